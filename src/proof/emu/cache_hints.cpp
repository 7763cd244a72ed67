#include "proof/emu/cache_hints.hpp"

#include <fmt/format.h>

#include "proof/emu/machine.hpp"

namespace flashfit::emu {
namespace {

constexpr uint64 kMade = 0x706f'6c69'6379'0000;  // "policy"

}  // namespace

arch::CachePolicy make_cache_policy(arch::Eviction eviction, float fraction, Site site) {
  const bool accepted = fraction > 0 && fraction <= 1;  // no NaN is
  if (!accepted)
    Machine::current().stop(
        fmt::format("cache_policy for a fraction of {}: more than 0 and at most 1 is accepted", fraction), &site);
  return {kMade + static_cast<uint64>(eviction)};
}

void check_cache_policy(arch::CachePolicy policy, const char* what, Site site) {
  if (policy.bits != kMade + static_cast<uint64>(arch::Eviction::kFirst) &&
      policy.bits != kMade + static_cast<uint64>(arch::Eviction::kLast))
    Machine::current().stop(fmt::format("{} by a cache policy that cache_policy did not make", what), &site);
}

}  // namespace flashfit::emu
