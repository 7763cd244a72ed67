#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <set>
#include <string_view>

#include "kernels/attention/forward/variants.hpp"
#include "kernels/attention/forward/wgmma/params.hpp"
#include "kernels/attention/forward_params.hpp"

namespace flashfit {
namespace {

const char* literal_of(ForwardKind kind) {
  switch (kind) {
    case ForwardKind::kPlain:
      return "kPlain";
    case ForwardKind::kGeneral:
      return "kGeneral";
    case ForwardKind::kAlibi:
      return "kAlibi";
  }
  return "";
}
std::string literal_of(const ForwardConfig& c) {
  return fmt::format(
      "ForwardConfig{{.engine = ForwardEngine::{}, .dtype = DType::{}, .head_dim = {}, .head_dim_v = {}, .block_m = "
      "{}, .block_n = {}, .warps = {}, "
      ".stages = {}, .min_blocks = {}, .column_warps = {}, .held_steps = {}, .copy_parts = {}, .early_tiles = {}, "
      ".trusting = {}, .kind = ForwardKind::{}, .packs = {}}}",
      c.engine == ForwardEngine::kWgmma ? "kWgmma" : "kMma", c.dtype == DType::kF16 ? "kF16" : "kBF16", c.head_dim,
      c.head_dim_v, c.block_m, c.block_n, c.warps, c.stages, c.min_blocks, c.column_warps, c.held_steps, c.copy_parts,
      c.early_tiles, c.trusting, literal_of(c.kind), c.packs);
}

/// The head_dims, of q, k, v and out alike, that users ask a variant for: those that some variant of its dtype is made
/// for, up to its own.
std::vector<std::string> serves(const ForwardConfig& c) {
  const auto head_of = [](const ForwardConfig& of) { return std::min(of.head_dim, of.head_dim_v); };
  std::set<int> heads;
  for (const ForwardVariant& v : forward_variants())
    if (v.config.dtype == c.dtype && head_of(v.config) <= head_of(c)) heads.insert(head_of(v.config));
  std::vector<std::string> names;
  for (const int head : heads) names.push_back(fmt::format("{} head_dim {}", name_of(c.dtype), head));
  return names;
}

}  // namespace

const KernelFamily& family_of(const ForwardConfig& c) {
  static constexpr KernelFamily kMma = {
      .operation = kForwardOperation, .name = "mma", .header = "kernels/attention/forward/forward.cuh"};
  static constexpr KernelFamily kWgmma = {
      .operation = kForwardOperation, .name = "wgmma", .header = "kernels/attention/forward/wgmma/forward.cuh"};
  static constexpr KernelFamily kHeads = {
      .operation = kForwardOperation, .name = "wgmma", .header = "kernels/attention/forward/wgmma/heads/forward.cuh"};
  if (takes_heads(c)) return kHeads;
  return c.engine == ForwardEngine::kWgmma ? kWgmma : kMma;
}

KernelVariant kernel_variant_of(const ForwardVariant& v) {
  const bool wgmma = v.config.engine == ForwardEngine::kWgmma;
  const char* const kernel = takes_heads(v.config) ? "WgmmaHeadsKernel"
                             : wgmma               ? "WgmmaForwardKernel"
                                                   : "ForwardKernel";
  return {.family = &family_of(v.config),
          .form = &v,
          .name = name_of(v.config),
          .type = fmt::format("{}<{}>", kernel, literal_of(v.config)),
          .targets = v.targets,
          .threads = forward_threads(v.config),
          .shared_bytes = shared_bytes_of(v.config),
          .params_bytes = static_cast<int>(wgmma ? sizeof(WgmmaForwardParams) : sizeof(ForwardParams)),
          .spill_bytes = v.spill_bytes,
          .serves = serves(v.config)};
}

std::vector<KernelVariant> forward_kernel_variants() {
  std::vector<KernelVariant> variants;
  for (const ForwardVariant& v : forward_variants()) variants.push_back(kernel_variant_of(v));
  return variants;
}

const ForwardVariant& forward_variant_of(const KernelVariant& variant) {
  assert(std::string_view(variant.family->operation) == kForwardOperation);
  return *static_cast<const ForwardVariant*>(variant.form);
}

}  // namespace flashfit
