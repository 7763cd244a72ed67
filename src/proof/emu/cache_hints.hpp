#pragma once
// Cache policies under the emulator: bits that tell one that was made from one that was not.
#include "kernels/arch/cache_policy.hpp"
#include "proof/emu/site.hpp"

namespace flashfit::emu {

/// Ends the launch unless the fraction is more than 0 and at most 1.
arch::CachePolicy make_cache_policy(arch::Eviction eviction, float fraction, Site site);
/// Ends the launch unless make_cache_policy() made it; `what`: the instruction that is given it.
void check_cache_policy(arch::CachePolicy policy, const char* what, Site site);

}  // namespace flashfit::emu
