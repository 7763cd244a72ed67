#include "kernels/attention/forward/variants.hpp"

#include <fmt/format.h>

#include "kernels/attention/forward/variants_table.hpp"

namespace flashfit {

std::span<const ForwardVariant> forward_variants() { return kForwardVariants; }

std::string name_of(const ForwardConfig& c) {
  return fmt::format("fwd_{}_{}_d{}{}_{}x{}_w{}_s{}_b{}{}", family_of(c).name, name_of(c.dtype), c.head_dim,
                     c.head_dim_v == c.head_dim ? "" : fmt::format("v{}", c.head_dim_v), c.block_m, c.block_n, c.warps,
                     c.stages, c.min_blocks,
                     c.packs                         ? "_packed"
                     : c.kind == ForwardKind::kPlain ? ""
                                                     : fmt::format("_{}", kind_of(c)));
}

const char* kind_of(const ForwardConfig& c) {
  switch (c.kind) {
    case ForwardKind::kPlain:
      return "plain";
    case ForwardKind::kGeneral:
      return "general";
    case ForwardKind::kAlibi:
      return "alibi";
  }
  return "";
}

int packed_heads(const ForwardConfig& c, const ForwardProblem& p) {
  return c.packs && p.heads_kv > 0 ? static_cast<int>(p.heads_q / p.heads_kv) : 1;
}

const ForwardVariant* find_forward_variant(const std::string& name) {
  for (const ForwardVariant& v : kForwardVariants)
    if (name_of(v.config) == name) return &v;
  return nullptr;
}

}  // namespace flashfit
