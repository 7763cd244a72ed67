#include "emulated.hpp"
#include "kernels/attention/forward/plan/candidates.hpp"
#include "long_rows.hpp"

namespace flashfit::testing {
namespace {

constexpr BiasCase kBiases[] = {
    {.kind = BiasKind::kLikeQ, .steep = true, .in_pairs = true},
    {.kind = BiasKind::kVisible, .own_heads = false, .steep = true, .in_pairs = true},
    {.kind = BiasKind::kF32, .own_batch = false, .steep = true, .in_pairs = true},
    {.kind = BiasKind::kVisible, .own_heads = false, .own_rows = false, .in_pairs = true},
    {.kind = BiasKind::kLikeQ,
     .own_batch = false,
     .own_heads = false,
     .own_rows = false,
     .holes = false,
     .steep = true,
     .in_pairs = true},
};

}  // namespace

std::string bias_defect(const EmulatedKernel& kernel, const emu::Options& options, std::size_t shift) {
  const ForwardConfig& c = forward_variant_of(kernel.variant).config;
  for (ForwardCase& spec : long_rows(c)) {
    if (spec.variable_length) continue;  // has no bias
    spec.heads_q = 2, spec.heads_kv = 1;
    spec.options.bias = kBiases[shift++ % std::size(kBiases)];
    if (spec.seqlens_q.size() == 2) spec.options.seqused_k = {333, 650}, spec.options.sinks = Sinks::kExtreme;
    if (!serves(c, problem_of(spec))) continue;
    ForwardData data = make_data(spec);
    const Expected expected = expect(data);
    if (const auto ran = run(kernel, data, options); !ran) return spec.name + ": " + ran.error().message;
    if (const Verdict verdict = check(data, expected); !verdict.ok) return verdict.message;
  }
  return {};
}

}  // namespace flashfit::testing
