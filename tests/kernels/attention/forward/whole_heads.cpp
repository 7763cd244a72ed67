#include <fmt/format.h>

#include "emulated.hpp"

namespace flashfit::testing {

std::string whole_heads_defect(const EmulatedKernel& kernel, const emu::Options& options) {
  const ForwardConfig& c = forward_variant_of(kernel.variant).config;
  const std::int64_t blocks = c.stages + 5, rows = blocks * kWarpgroupRows - 60;
  struct {
    std::int64_t queries, keys, heads_q, heads_kv;
    bool causal;
  } const cases[] = {
      {rows, rows, 8, 2, true},                                  // each round begins with other tiles of the one before
      {rows - 300, rows + 70, 4, 4, true},                       // more keys than queries
      {2 * kWarpgroupRows * 3, c.block_n * 3 + 5, 4, 2, false},  // whose keys stay
      {3 * kWarpgroupRows * 3, rows, 4, 2, false},
  };
  for (const auto& each : cases) {
    ForwardCase spec;
    spec.name = fmt::format("whole heads, {} queries x {} keys", each.queries, each.keys);
    spec.dtype = c.dtype;
    spec.head_dim = c.head_dim;
    spec.head_dim_v = c.head_dim_v;
    spec.heads_q = each.heads_q;
    spec.heads_kv = each.heads_kv;
    spec.seqlens_q = {each.queries};
    spec.seqlens_k = {each.keys};
    spec.causal = each.causal;
    ForwardData data = make_data(spec);
    // The first keys' scores are so large that bases follow them, where a round ends with them.
    for (std::int64_t key = 0; key < 20; ++key)
      for (std::int64_t d = 0; d < spec.head_dim; ++d)
        for (std::int64_t head = 0; head < spec.heads_kv; ++head)
          data.k.set(0, key, head, d, data.k.get(0, key, head, d) * 60);
    if (const auto ran = run(kernel, data, options); !ran) return spec.name + ": " + ran.error().message;
    if (const Verdict verdict = check(data, expect(data)); !verdict.ok) return spec.name + ": " + verdict.message;
  }
  return {};
}

}  // namespace flashfit::testing
