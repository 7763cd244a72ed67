#include <fmt/format.h>

#include "emulated.hpp"

namespace flashfit::testing {

std::string head_starts_defect(const EmulatedKernel& kernel, const emu::Options& options) {
  const ForwardConfig& c = forward_variant_of(kernel.variant).config;
  struct {
    std::int64_t head_dim, heads_q, heads_kv;
    bool causal, variable_length;
  } const cases[] = {
      {c.head_dim - 24, 4, 2, true, false},
      {c.head_dim - 8, 2, 2, false, true},
  };
  for (const auto& each : cases) {
    ForwardCase spec;
    spec.name = fmt::format("heads of {} columns", each.head_dim);
    spec.dtype = c.dtype;
    spec.head_dim = each.head_dim;
    spec.head_dim_v = each.head_dim;
    spec.heads_q = each.heads_q;
    spec.heads_kv = each.heads_kv;
    spec.seqlens_q = {c.block_m + 30, c.block_m + 30};
    spec.seqlens_k = {2 * c.block_n + 21, 2 * c.block_n + 21};
    spec.causal = each.causal;
    spec.variable_length = each.variable_length;
    ForwardData data = make_data(spec);
    // Late keys' scores are so large that rows are weighed again, from tiles that begin further left, too.
    for (std::int64_t key = c.block_n; key < c.block_n + 5; ++key)
      for (std::int64_t d = 0; d < spec.head_dim; ++d) data.k.set(0, key, 1, d, data.k.get(0, key, 1, d) * 60);
    if (const auto ran = run(kernel, data, options); !ran) return spec.name + ": " + ran.error().message;
    if (const Verdict verdict = check(data, expect(data)); !verdict.ok) return spec.name + ": " + verdict.message;
  }
  return {};
}

}  // namespace flashfit::testing
