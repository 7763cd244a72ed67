#include <fmt/format.h>

#include <vector>

#include "emulated.hpp"

namespace flashfit::testing {
namespace {

constexpr std::int64_t kQueries = 70, kKeys = 290, kQuiet = 3, kSteps = 23;

/// Every kQuiet-th query is so small that its scores stay near 0; those of the others, if `loud`, rise on the later
/// keys, in steps from a little to hundreds: their bases must move, some so far that weights pass fp32, and all that
/// lies between.
ForwardData make_rising(const ForwardConfig& c, bool loud, double softcap) {
  ForwardCase spec;
  spec.name = "rising scores";
  spec.dtype = c.dtype;
  spec.head_dim = c.head_dim;
  spec.head_dim_v = c.head_dim_v;
  spec.seqlens_q = {kQueries};
  spec.seqlens_k = {kKeys};
  spec.options.softcap = softcap;
  // Of one key-value head: neighbours in a tile.
  if (c.packs) spec.heads_q = c.engine == ForwardEngine::kWgmma ? 4 : 3;
  ForwardData data = make_data(spec);
  for (std::int64_t d = 0; d < spec.head_dim; ++d) {
    for (std::int64_t row = 0; row < kQueries; ++row)
      for (std::int64_t head = 0; head < spec.heads_q; ++head) {
        const double factor = row % kQuiet == 0 || !loud ? 1.0 / 1024 : double(row % kSteps + 1) / kSteps;
        data.q.set(0, row, head, d, data.q.get(0, row, head, d) * factor);
      }
    for (std::int64_t key = kKeys / 2; key < kKeys; ++key) data.k.set(0, key, 0, d, data.k.get(0, key, 0, d) * 128);
  }
  return data;
}

/// Scores near 0 on the first keys, and on the later ones far below -1, the cap, but of quiet queries: what is taken
/// for small there shows, as no base has to move.
ForwardData make_falling(const ForwardConfig& c, bool (*is_quiet)(std::int64_t row)) {
  ForwardData data = make_rising(c, true, 1);
  data.spec.name = "falling scores";
  for (std::int64_t d = 0; d < c.head_dim; ++d) {
    for (std::int64_t row = 0; row < kQueries; ++row)
      for (std::int64_t head = 0; head < data.spec.heads_q; ++head)
        data.q.set(0, row, head, d, is_quiet(row) ? 1.0 / 1024 : 1);
    for (std::int64_t key = kKeys / 2; key < kKeys; ++key) data.k.set(0, key, 0, d, -4.0 - double(key % 3));
  }
  return data;
}

}  // namespace

std::string neighbours_defect(const EmulatedKernel& kernel, const emu::Options& options, int splits) {
  const ForwardConfig c = forward_variant_of(kernel.variant).config;
  // One with which bases move as without, and one against which scores of quiet rows are small, but not near 0, and
  // most of the others are large: tanh is computed in different ways.
  const std::vector<double> softcaps = c.kind == ForwardKind::kGeneral ? std::vector{700., 4.} : std::vector{0.};
  for (const double softcap : softcaps) {
    ForwardData quiet = make_rising(c, false, softcap), loud = make_rising(c, true, softcap);
    for (ForwardData* const d : {&quiet, &loud}) {
      if (const auto ran = run(kernel, *d, options, {}, splits); !ran) return ran.error().message;
      if (const Verdict verdict = check(*d, expect(*d)); !verdict.ok) return verdict.message;
    }
    for (std::int64_t head = 0; head < loud.spec.heads_q; ++head)
      for (std::int64_t row = 0; row < kQueries; row += kQuiet) {
        if (quiet.lse_at(0, row, head) != loud.lse_at(0, row, head))
          return fmt::format("row {} head {}: its LSE follows its neighbours", row, head);
        for (std::int64_t d = 0; d < loud.spec.head_dim_v; ++d)
          if (quiet.out.get(0, row, head, d) != loud.out.get(0, row, head, d))
            return fmt::format("row {} head {} column {}: its bits follow its neighbours", row, head, d);
      }
  }
  if (c.kind != ForwardKind::kGeneral) return {};
  // None, the first rows of a fragment's halves, and the first half.
  for (const auto is_quiet : {+[](std::int64_t) { return false; }, +[](std::int64_t row) { return row % 8 == 0; },
                              +[](std::int64_t row) { return row % 16 < 8; }}) {
    ForwardData falling = make_falling(c, is_quiet);
    if (const auto ran = run(kernel, falling, options, {}, splits); !ran) return ran.error().message;
    if (const Verdict verdict = check(falling, expect(falling)); !verdict.ok) return verdict.message;
  }
  return {};
}

}  // namespace flashfit::testing
