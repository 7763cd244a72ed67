#include "emulated.hpp"
#include "kernels/attention/forward/plan/candidates.hpp"

namespace flashfit::testing {
namespace {

// Of heads in turn. Over wgmma a kernel begins at the diagonal: scores then fall with the first and rise with the
// second, by so much that bases are lost; the others change them by little a tile.
constexpr float kSlopes[] = {0.5f, -0.4f, 0.004f, -0.02f};

/// Several tiles of keys a row.
std::vector<ForwardCase> long_rows(const ForwardConfig& c) {
  std::vector<ForwardCase> cases;
  const auto add = [&](const char* name, std::vector<std::int64_t> queries, std::vector<std::int64_t> keys,
                       int heads) -> ForwardCase& {
    ForwardCase& spec = cases.emplace_back();
    spec.name = name;
    spec.dtype = c.dtype;
    spec.head_dim = c.head_dim;
    spec.head_dim_v = c.head_dim_v;
    spec.heads_q = heads;
    spec.heads_kv = heads / 2;
    spec.seqlens_q = std::move(queries);
    spec.seqlens_k = std::move(keys);
    spec.options.alibi = Slopes::kOfHeads;
    return spec;
  };
  add("keys on both sides of the diagonal", {390}, {390}, 4);
  add("causal", {270}, {400}, 4).causal = true;
  add("causal, more queries than keys", {300}, {140}, 2).causal = true;
  ForwardCase& window = add("window to both sides", {390}, {390}, 2);
  window.options.window_left = 150, window.options.window_right = 70;
  // The second half of a tile has no rows, and passes over all keys but the last few.
  add("few queries, many keys", {50, 50}, {650, 650}, 4).options.alibi = Slopes::kOfBatchAndHeads;
  ForwardCase& ragged = add("keys in use of uneven sequences", {200, 0, 50}, {400, 5, 650}, 2);
  ragged.variable_length = true;
  ragged.options.seqused_k = {300, 3, 520};
  return cases;
}

}  // namespace

std::string alibi_defect(const EmulatedKernel& kernel, const emu::Options& options) {
  const ForwardConfig& c = forward_variant_of(kernel.variant).config;
  for (const ForwardCase& spec : long_rows(c)) {
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
