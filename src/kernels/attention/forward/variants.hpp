#pragma once
// The one table of forward variants: the build makes images of it,
// the plan chooses from it, tests run all of it. Host only.
#include <span>
#include <string>
#include <vector>

#include "core/gpu/target.hpp"
#include "core/launch/kernel_variant.hpp"
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/wgmma/heads/config.hpp"
#include "kernels/attention/problem.hpp"

namespace flashfit {

/// A variant: a configuration, the targets it is compiled for, and what the build tolerates.
struct ForwardVariant {
  ForwardConfig config;
  std::span<const Target> targets;
  int spill_bytes = 0;  ///< spilled or local bytes a thread that the build accepts
};

std::span<const ForwardVariant> forward_variants();

/// "fwd_mma_fp16_d64_128x64_w4_s2_b2", "fwd_wgmma_...": unique, what users and images name a variant by.
std::string name_of(const ForwardConfig& c);

/// The variant of that name, or nullptr.
const ForwardVariant* find_forward_variant(const std::string& name);

inline constexpr const char* kForwardOperation = "attention.forward";

/// The family of a configuration's engine: its name is "mma" or "wgmma".
const KernelFamily& family_of(const ForwardConfig& config);

/// "plain", "general" or "alibi", as users read it.
const char* kind_of(const ForwardConfig& config);

/// Query heads whose queries are rows of one tile when a variant of `config` computes a problem that it serves: a
/// group's if its kernel packs (tile_rows.cuh), else 1.
int packed_heads(const ForwardConfig& config, const ForwardProblem& problem);

/// A variant as the catalogue has it. `variant` must outlive it.
KernelVariant kernel_variant_of(const ForwardVariant& variant);
/// The whole table.
std::vector<KernelVariant> forward_kernel_variants();
/// What kernel_variant_of() was made of.
const ForwardVariant& forward_variant_of(const KernelVariant& variant);

}  // namespace flashfit
