// The forward for one block of query rows. Compiled once for each Highway target, hence the toggled guard.
//
// SIMD lanes are query rows, so that maxima and sums over keys never cross lanes, and K and V are read as scalars in
// the order in which they lie:
//   Q is transposed once: q[dim][row]
//   for each block of keys: convert K and V to fp32, and for each panel of rows (as many as fill the registers)
//     s[key][row]  = scale * sum over dim of k[key][dim] * q[dim][row], then softcap, ALiBi and bias (options-inl.hpp);
//                    keys that a row does not see become -inf
//     m', p, l     = the online softmax's running maximum, weights and sum
//     o[dim][row]  = o * exp(m - m') + sum over key of v[key][dim] * p[key][row]
//   o / l is transposed back.
// Long sums are made of short ones, so that rounding errors do not grow with their length (docs/numerics.md): over keys
// one a block, added with compensation, over dims one for every kChain.
#if defined(FLASHFIT_CPU_FORWARD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHFIT_CPU_FORWARD_INL
#undef FLASHFIT_CPU_FORWARD_INL
#else
#define FLASHFIT_CPU_FORWARD_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/cpu/convert-inl.hpp"
#include "runtime/cpu/exp-inl.hpp"
#include "runtime/cpu/kernel.hpp"
#include "runtime/cpu/options-inl.hpp"
#include "runtime/cpu/panel-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace flashfit::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr std::size_t kChain = 32;

constexpr std::size_t round_up(std::size_t x, std::size_t to) { return (x + to - 1) / to * to; }

/// Where the parts of a thread's scratch lie, in floats; every offset keeps vectors aligned.
struct Scratch {
  std::size_t dim, dim_v, columns;  ///< head_dim, that of v, and the latter rounded up to whole tiles
  float *k, *v, *s, *row;           ///< [kKeys][dim], [kKeys][columns], [kKeys][kPanel], [dim or columns]
  float *q, *o, *o_lost;            ///< [kPanels][dim][kPanel], the others [kPanels][columns][kPanel]
  float *max, *sum, *lost;          ///< [kPanels][kPanel]
  float *bias, *line;               ///< [kKeys][kPanel], [kKeys]; nullptr where there is none

  std::size_t floats = 0;  ///< all of it

  Scratch(const ForwardProblem& problem, float* base)
      : dim(problem.head_dim), dim_v(problem.head_dim_v), columns(round_up(dim_v, kTile)) {
    const auto take = [base, this](std::size_t count) {
      float* const part = base == nullptr ? nullptr : base + floats;
      floats += round_up(count, kScratchAlignment / sizeof(float));
      return part;
    };
    k = take(kKeys * dim), v = take(kKeys * columns), s = take(kKeys * kPanel), row = take(std::max(dim, columns));
    q = take(kRows * dim), o = take(kRows * columns), o_lost = take(kRows * columns);
    max = take(kRows), sum = take(kRows), lost = take(kRows);
    const bool biased = problem.bias != BiasKind::kNone;
    bias = take(biased ? kKeys * kPanel : 0), line = take(biased ? kKeys : 0);
  }
};

/// total = total * rescale + part by Kahan's summation; `lost` is what rounding has taken from total so far.
HWY_INLINE void add_block(Vec part, Vec rescale, float* HWY_RESTRICT total, float* HWY_RESTRICT lost) {
  const Tag d;
  const Vec old = hn::Mul(hn::Load(d, total), rescale);
  const Vec added = hn::MulAdd(hn::Load(d, lost), rescale, part);
  const Vec sum = hn::Add(old, added);
  const Vec rest = hn::Sub(added, hn::Sub(sum, old));
  hn::Store(sum, d, total);
  hn::Store(hn::IfThenZeroElse(hn::IsNaN(rest), rest), d, lost);  // an infinite sum stays infinite
}

/// What dims [begin, end) add to the scores of kTile keys: s = (s + sum) * factor, or sum * factor for the first dims.
template <int kV, bool kFirst>
HWY_INLINE void score_chain(const float* HWY_RESTRICT q, const float* HWY_RESTRICT k, std::size_t begin,
                            std::size_t end, std::size_t dim, float factor, float* HWY_RESTRICT s) {
  const Tag d;
  Vec acc[kTile][kV];
  for (auto& sums : acc) {
    for (int i = 0; i < kV; ++i) sums[i] = hn::Zero(d);
  }
  for (std::size_t x = begin; x < end; ++x) {
    Vec row[kV];
    for (int i = 0; i < kV; ++i) row[i] = hn::Load(d, q + x * kPanel + i * kLanes);
    for (int j = 0; j < kTile; ++j) {
      const Vec key = hn::Set(d, k[j * dim + x]);
      for (int i = 0; i < kV; ++i) acc[j][i] = hn::MulAdd(row[i], key, acc[j][i]);
    }
  }
  for (int j = 0; j < kTile; ++j) {
    for (int i = 0; i < kV; ++i) {
      float* const at = s + j * kPanel + i * kLanes;
      if constexpr (!kFirst) acc[j][i] = hn::Add(hn::Load(d, at), acc[j][i]);
      hn::Store(hn::Mul(acc[j][i], hn::Set(d, factor)), d, at);
    }
  }
}

/// s[key][row] for kTile keys.
template <int kV>
HWY_INLINE void score_tile(const float* HWY_RESTRICT q, const float* HWY_RESTRICT k, std::size_t dim, float scale,
                           float* HWY_RESTRICT s) {
  const auto factor = [dim, scale](std::size_t end) { return end == dim ? scale : 1.0f; };
  std::size_t end = std::min(kChain, dim);
  score_chain<kV, true>(q, k, 0, end, dim, factor(end), s);
  while (end < dim) {
    const std::size_t begin = end;
    end = std::min(begin + kChain, dim);
    score_chain<kV, false>(q, k, begin, end, dim, factor(end), s);
  }
}

/// Keys of a block that rows of a panel see: [begin, end) by some row, of them [clear_begin, clear_end) by all.
struct Keys {
  int begin, clear_begin, clear_end, end;

  int tiles_begin() const { return tile_floor(begin); }
  int tiles_end() const { return tile_ceil(end); }
  void none_is_clear() { clear_begin = clear_end = end; }
};

/// Which rows see a key: those with from[row] <= key < to[row], or whose bias is not -inf.
template <int kV, bool kBiased>
struct Visible {
  Vec from[kV], to[kV];
  const float* bias;

  // An implicit one would not be of the region's instruction set, and NEON's vectors have one that must be inlined.
  HWY_INLINE Visible() {}  // NOLINT(cppcoreguidelines-pro-type-member-init,modernize-use-equals-default)

  HWY_INLINE auto mask(int key, int i) const {
    const Tag d;
    if constexpr (kBiased) {
      // Not Ne(), which is false of a NaN on x86: such a bias hides no key.
      return hn::Not(hn::Eq(hn::Load(d, bias + key * kPanel + i * kLanes), hn::Set(d, -kInfinity)));
    } else {
      const Vec at = hn::Set(d, static_cast<float>(key));
      return hn::And(hn::Ge(at, from[i]), hn::Lt(at, to[i]));
    }
  }
};

/// Adds keys [begin, end), which some rows do not see, to the accumulators of kTile columns. A weight of 0 does not do
/// for those: 0 * NaN is NaN.
template <int kV, bool kBiased>
HWY_INLINE void add_masked(const float* HWY_RESTRICT p, const float* HWY_RESTRICT v, std::size_t columns, int begin,
                           int end, const Visible<kV, kBiased>& visible, Vec (&acc)[kTile][kV]) {
  const Tag d;
  for (int key = begin; key < end; ++key) {
    for (int i = 0; i < kV; ++i) {
      const Vec weight = hn::Load(d, p + key * kPanel + i * kLanes);
      const auto seen = visible.mask(key, i);
      for (int j = 0; j < kTile; ++j) {
        acc[j][i] = hn::IfThenElse(seen, hn::MulAdd(weight, hn::Set(d, v[key * columns + j]), acc[j][i]), acc[j][i]);
      }
    }
  }
}

/// o[column][row] for kTile columns.
template <int kV, bool kBiased>
HWY_INLINE void value_tile(const float* HWY_RESTRICT p, const float* HWY_RESTRICT v, std::size_t columns,
                           const Keys& keys, const Visible<kV, kBiased>& visible, const Vec* HWY_RESTRICT rescale,
                           float* HWY_RESTRICT o, float* HWY_RESTRICT lost) {
  const Tag d;
  Vec acc[kTile][kV];
  for (auto& sums : acc) {
    for (int i = 0; i < kV; ++i) sums[i] = hn::Zero(d);
  }
  add_masked<kV>(p, v, columns, keys.begin, keys.clear_begin, visible, acc);
  for (int key = keys.clear_begin; key < keys.clear_end; ++key) {
    Vec weight[kV];
    for (int i = 0; i < kV; ++i) weight[i] = hn::Load(d, p + key * kPanel + i * kLanes);
    for (int j = 0; j < kTile; ++j) {
      const Vec value = hn::Set(d, v[key * columns + j]);
      for (int i = 0; i < kV; ++i) acc[j][i] = hn::MulAdd(weight[i], value, acc[j][i]);
    }
  }
  add_masked<kV>(p, v, columns, keys.clear_end, keys.end, visible, acc);
  // By way of memory: with add_block's own registers in sight, compilers spill accumulators within the loops above.
  HWY_ALIGN float part[kTile * kPanel];
  for (int j = 0; j < kTile; ++j) {
    for (int i = 0; i < kV; ++i) hn::Store(acc[j][i], d, part + j * kPanel + i * kLanes);
  }
  for (int at = 0; at < kTile * kPanel; at += kPanel) {
    for (int i = 0; i < kV; ++i) {
      const int x = at + i * kLanes;
      add_block(hn::Load(d, part + x), rescale[i], o + x, lost + x);
    }
  }
}

/// Turns scores into weights, updates the running maximum and sum, and gives what older sums are to be multiplied by.
template <int kV, bool kBiased>
HWY_INLINE void softmax(float* HWY_RESTRICT s, const Keys& keys, const Visible<kV, kBiased>& visible,
                        float* HWY_RESTRICT max, float* HWY_RESTRICT sum, float* HWY_RESTRICT lost,
                        Vec* HWY_RESTRICT rescale) {
  const Tag d;
  const Vec none = hn::Set(d, -kInfinity);
  Vec top[kV], shift[kV], total[kV];
  for (int i = 0; i < kV; ++i) top[i] = hn::Load(d, max + i * kLanes);
  const auto masked = [&](int begin, int end) {
    for (int key = begin; key < end; ++key) {
      for (int i = 0; i < kV; ++i) {
        float* const at = s + key * kPanel + i * kLanes;
        const Vec score = hn::IfThenElse(visible.mask(key, i), hn::Load(d, at), none);
        hn::Store(score, d, at);
        top[i] = hn::Max(top[i], score);
      }
    }
  };
  masked(keys.tiles_begin(), keys.clear_begin);
  for (int key = keys.clear_begin; key < keys.clear_end; ++key) {
    for (int i = 0; i < kV; ++i) top[i] = hn::Max(top[i], hn::Load(d, s + key * kPanel + i * kLanes));
  }
  masked(keys.clear_end, keys.tiles_end());
  for (int i = 0; i < kV; ++i) {
    // Rows that have seen nothing yet: -inf - 0 is -inf, whose exponential is 0; -inf - -inf would be NaN.
    shift[i] = hn::IfThenElse(hn::Eq(top[i], none), hn::Zero(d), top[i]);
    rescale[i] = exp_nonpositive(d, hn::Sub(hn::Load(d, max + i * kLanes), shift[i]));
    total[i] = hn::Zero(d);
    hn::Store(top[i], d, max + i * kLanes);
  }
  for (int key = keys.tiles_begin(); key < keys.tiles_end(); ++key) {
    for (int i = 0; i < kV; ++i) {
      float* const at = s + key * kPanel + i * kLanes;
      const Vec weight = exp_nonpositive(d, hn::Sub(hn::Load(d, at), shift[i]));
      total[i] = hn::Add(total[i], weight);
      hn::Store(weight, d, at);
    }
  }
  for (int i = 0; i < kV; ++i) {
    add_block(total[i], rescale[i], sum + i * kLanes, lost + i * kLanes);
  }
}

/// What of a block of keys concerns a panel.
struct Step {
  const float *from, *to;  ///< [kPanel]: each row's keys, counted from the block's first
  Keys keys;
  ScoreOptions options;
};

template <int kV, bool kBiased>
HWY_INLINE void panel_step(const Scratch& at, int panel, const Step& step, float scale) {
  const Tag d;
  const Keys& keys = step.keys;
  Vec rescale[kV];
  Visible<kV, kBiased> visible;
  for (int i = 0; i < kV; ++i) visible.from[i] = hn::Load(d, step.from + i * kLanes);
  for (int i = 0; i < kV; ++i) visible.to[i] = hn::Load(d, step.to + i * kLanes);
  visible.bias = step.options.bias;
  for (int key = keys.tiles_begin(); key < keys.tiles_end(); key += kTile) {
    score_tile<kV>(at.q + panel * kPanel * at.dim, at.k + key * at.dim, at.dim, scale, at.s + key * kPanel);
  }
  if (step.options.any()) apply<kV>(step.options, keys.tiles_begin(), keys.tiles_end(), at.s);
  softmax<kV>(at.s, keys, visible, at.max + panel * kPanel, at.sum + panel * kPanel, at.lost + panel * kPanel, rescale);
  const std::size_t o = panel * kPanel * at.columns;
  for (std::size_t c = 0; c < at.columns; c += kTile) {
    value_tile<kV>(at.s, at.v + c, at.columns, keys, visible, rescale, at.o + o + c * kPanel,
                   at.o_lost + o + c * kPanel);
  }
}

template <int kV>
void panel_step(const Scratch& at, int panel, const Step& step, float scale) {
  step.options.bias == nullptr ? panel_step<kV, false>(at, panel, step, scale)
                               : panel_step<kV, true>(at, panel, step, scale);
}

template <class T>
const T* row_of(const TensorView& t, std::int64_t batch, std::int64_t row, std::int64_t head) {
  return static_cast<const T*>(t.data) + batch * t.batch_stride + row * t.row_stride + head * t.head_stride;
}

/// Keys [begin, end) that causal and window let a row see; neither falls from one row to the next.
struct Range {
  std::int64_t begin, end;
};

inline Range keys_of(const Rows& rows, std::int64_t row) {
  const ForwardProblem& problem = rows.call.problem;
  const std::int64_t at = rows.position(row), keys = rows.block.seqlen_k;
  const std::int64_t right = problem.causal ? 0 : problem.window_right;
  return {problem.window_left < 0 ? 0 : std::clamp<std::int64_t>(at - problem.window_left, 0, keys),
          right < 0 ? keys : std::clamp<std::int64_t>(at + right + 1, 0, keys)};
}

template <class T>
void load_queries(const Rows& rows, const Scratch& at) {
  const RowBlock& block = rows.block;
  std::fill_n(at.q, kRows * at.dim, 0.0f);
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const std::int64_t row = block.begin + r;
    load_row(row_of<T>(rows.call.q, block.batch, block.q_start + rows.token(row), rows.head(row)), at.row, at.dim);
    float* const to = at.q + r / kPanel * kPanel * at.dim + r % kPanel;
    for (std::size_t x = 0; x < at.dim; ++x) to[x * kPanel] = at.row[x];
  }
}

/// Rows past `keys` up to a whole tile are 0: nobody sees them, but their scores are computed.
template <class T>
void load_keys(const TensorView& t, const RowBlock& block, std::int64_t first, int keys, std::size_t dim,
               std::size_t stride, float* to) {
  for (int key = 0; key < keys; ++key) {
    load_row(row_of<T>(t, block.batch, block.k_start + first + key, block.kv_head), to + key * stride, dim);
    std::fill(to + key * stride + dim, to + (key + 1) * stride, 0.0f);
  }
  std::fill(to + keys * stride, to + round_up(keys, kTile) * stride, 0.0f);
}

/// What a row's weighted sum is multiplied by, and its LSE. A sink joins the sum of weights here, since no value
/// belongs to it.
struct Ending {
  float factor, sum, lse;
  bool empty = false;  ///< no key is visible: the result is 0, whatever was summed
};

inline Ending ending_of(const Rows& rows, std::int64_t row, float max, float sum) {
  const Range keys = keys_of(rows, row);
  // Where a window leaves keys, only a bias can hide them all: else a sum of 0 would be that of NaN or infinities.
  const bool hidden = keys.begin >= keys.end || (rows.call.problem.bias != BiasKind::kNone && sum == 0);
  const float sink = rows.call.sinks == nullptr ? -kInfinity : rows.call.sinks[rows.head(row)];
  if (sink == -kInfinity) return hidden ? Ending{0, 1, -kInfinity, true} : Ending{1, sum, max + std::log(sum)};
  if (hidden) return {0, 1, sink, true};
  const float top = std::max(max, sink), factor = std::exp(max - top);
  const float total = sum * factor + std::exp(sink - top);
  return {factor, total, top + std::log(total)};
}

template <class T>
void store_rows(const Rows& rows, const Scratch& at) {
  const ForwardCall& call = rows.call;
  const ForwardProblem& problem = call.problem;
  const RowBlock& block = rows.block;
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const std::int64_t row = block.begin + r, token = rows.token(row), head = rows.head(row);
    const Ending ending = ending_of(rows, row, at.max[r], at.sum[r]);
    const float* const from = at.o + r / kPanel * kPanel * at.columns + r % kPanel;
    for (std::size_t x = 0; x < at.dim_v; ++x) {
      // A factor of 0 is also that of a sink far above all scores: then NaN and infinities in V are NaN, as on a GPU.
      at.row[x] = ending.empty ? 0.0f : from[x * kPanel] * ending.factor / ending.sum;
    }
    store_row(at.row, const_cast<T*>(row_of<T>(call.o, block.batch, block.q_start + token, head)), at.dim_v);
    if (call.lse == nullptr) continue;
    const std::int64_t line_rows = problem.variable_length ? problem.total_q : problem.seqlen_q;
    const std::int64_t line = (problem.variable_length ? 0 : block.batch * problem.heads_q) + head;
    call.lse[line * line_rows + block.q_start + token] = ending.lse;
  }
}

/// One block of keys, which lie in scratch, for the rows of one panel.
template <class T>
void run_panel(const Rows& all, const Scratch& at, int panel, std::int64_t first_key, int key_count) {
  const ForwardCall& call = all.call;
  const std::int64_t first_row = all.block.begin + panel * kPanel;
  const int rows = static_cast<int>(std::min<std::int64_t>(kPanel, all.block.rows - panel * kPanel));
  HWY_ALIGN float from[kPanel], to[kPanel], slopes[kPanel], positions[kPanel];
  for (int r = 0; r < rows; ++r) {
    const Range seen = keys_of(all, first_row + r);
    from[r] = static_cast<float>(std::clamp<std::int64_t>(seen.begin - first_key, 0, key_count));
    to[r] = static_cast<float>(std::clamp<std::int64_t>(seen.end - first_key, 0, key_count));
  }
  // Lanes past the last row see what it sees: nothing depends on them, and the fast loops stay free of masks.
  std::fill(from + rows, from + kPanel, from[rows - 1]);
  std::fill(to + rows, to + kPanel, to[rows - 1]);
  Step step{from, to, {}, {}};
  step.keys = {static_cast<int>(from[0]), static_cast<int>(from[rows - 1]), static_cast<int>(to[0]),
               static_cast<int>(to[rows - 1])};
  if (step.keys.begin >= step.keys.end) return;
  if (step.keys.clear_begin >= step.keys.clear_end) step.keys.none_is_clear();
  step.options.softcap = call.softcap;
  if (call.problem.alibi) {
    fill_alibi(all, first_row, rows, first_key, slopes, positions);
    step.options.slopes = slopes, step.options.positions = positions;
  }
  if (call.problem.bias != BiasKind::kNone) {
    step.options.bias = at.bias;
    const BiasPlace place{first_row, rows, first_key, step.keys.begin, step.keys.end, from, to};
    if (fill_bias<T>(all, place, at.line, at.bias)) step.keys.none_is_clear();
  }
  if (rows <= kLanes) {
    panel_step<1>(at, panel, step, call.softmax_scale);
  } else if (rows <= 2 * kLanes) {
    panel_step<2>(at, panel, step, call.softmax_scale);
  } else {
    panel_step<3>(at, panel, step, call.softmax_scale);
  }
}

template <class T>
void run_typed(const ForwardCall& call, const RowBlock& block, float* scratch) {
  const ForwardProblem& problem = call.problem;
  const Rows rows{call, block, problem.heads_q / problem.heads_kv};
  const Scratch at(problem, scratch);
  const int panels = static_cast<int>((block.rows + kPanel - 1) / kPanel);
  load_queries<T>(rows, at);
  std::fill_n(at.o, kRows * at.columns, 0.0f);
  std::fill_n(at.o_lost, kRows * at.columns, 0.0f);
  std::fill_n(at.max, kRows, -kInfinity);
  std::fill_n(at.sum, kRows, 0.0f);
  std::fill_n(at.lost, kRows, 0.0f);

  // Blocks of keys begin where they would without a window, so that a row's sums do not depend on the rows beside it.
  const std::int64_t begin = keys_of(rows, block.begin).begin / kKeys * kKeys,
                     end = keys_of(rows, block.begin + block.rows - 1).end;
  for (std::int64_t first = begin; first < end; first += kKeys) {
    const int keys = static_cast<int>(std::min<std::int64_t>(kKeys, end - first));
    load_keys<T>(call.k, block, first, keys, at.dim, at.dim, at.k);
    load_keys<T>(call.v, block, first, keys, at.dim_v, at.columns, at.v);
    for (int panel = 0; panel < panels; ++panel) run_panel<T>(rows, at, panel, first, keys);
  }
  store_rows<T>(rows, at);
}

inline void run(const ForwardCall& call, const RowBlock& block, float* scratch) {
  switch (call.problem.dtype) {
    case DType::kF16:
      return run_typed<f16>(call, block, scratch);
    case DType::kBF16:
      return run_typed<bf16>(call, block, scratch);
    case DType::kF32:
      return run_typed<float>(call, block, scratch);
  }
}

inline std::size_t scratch_bytes(const ForwardProblem& problem) {
  return Scratch(problem, nullptr).floats * sizeof(float);
}

inline void exp_array(const float* x, float* y, std::size_t count) {
  const Tag d;
  for (std::size_t i = 0; i < count; i += kLanes) hn::StoreU(exp_nonpositive(d, hn::LoadU(d, x + i)), d, y + i);
}

inline void tanh_array(const float* x, float* y, std::size_t count) {
  const Tag d;
  for (std::size_t i = 0; i < count; i += kLanes) hn::StoreU(tanh(d, hn::LoadU(d, x + i)), d, y + i);
}

}  // namespace flashfit::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
