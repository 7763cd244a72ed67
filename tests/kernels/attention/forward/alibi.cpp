#include "emulated.hpp"
#include "kernels/attention/forward/plan/candidates.hpp"
#include "long_rows.hpp"

namespace flashfit::testing {
namespace {

// Of heads in turn. Over wgmma a kernel begins at the diagonal: scores then fall with the first and rise with the
// second, by so much that bases are lost; the others change them by little a tile.
constexpr float kSlopes[] = {0.5f, -0.4f, 0.004f, -0.02f};

}  // namespace

std::string alibi_defect(const EmulatedKernel& kernel, const emu::Options& options) {
  const ForwardConfig& c = forward_variant_of(kernel.variant).config;
  for (ForwardCase& spec : long_rows(c)) {
    spec.options.alibi = spec.seqlens_q.size() == 2 ? Slopes::kOfBatchAndHeads : Slopes::kOfHeads;
    if (!serves(c, problem_of(spec))) continue;
    ForwardData data = make_data(spec);
    for (std::size_t i = 0; i < data.options.alibi_slopes.size(); ++i)
      data.options.alibi_slopes.data()[i] = kSlopes[i % std::size(kSlopes)];
    const Expected expected = expect(data);
    if (const auto ran = run(kernel, data, options); !ran) return spec.name + ": " + ran.error().message;
    if (const Verdict verdict = check(data, expected); !verdict.ok) return verdict.message;
  }
  return {};
}

}  // namespace flashfit::testing
