// The forward for one block of query rows. Compiled once for each Highway target, hence the toggled guard.
//
// SIMD lanes are query rows, so that maxima and sums over keys never cross lanes, and K and V are read as scalars in
// the order in which they lie:
//   Q is transposed once: q[dim][row]
//   for each block of keys: convert K and V to fp32, and for each panel of rows (as many as fill the registers)
//     s[key][row]  = scale * sum over dim of k[key][dim] * q[dim][row]; keys that a row does not see become -inf
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

#include "cpu/convert-inl.hpp"
#include "cpu/exp-inl.hpp"
#include "cpu/kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace flashfit::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
// A tile of kTile keys (or columns of V) by 3 vectors of rows holds its accumulators, 3 vectors and a scalar in the
// vector registers.
inline constexpr int kTile = (HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3) ? 4 : 8;
inline constexpr int kVectors = 3;
inline constexpr int kLanes = HWY_LANES(float);
inline constexpr int kPanel = kVectors * kLanes;
inline constexpr int kPanels = 96 / kPanel;
inline constexpr int kRows = kPanels * kPanel;
inline constexpr int kKeys = 64;
inline constexpr std::size_t kChain = 32;

constexpr std::size_t round_up(std::size_t x, std::size_t to) { return (x + to - 1) / to * to; }

/// Where the parts of a thread's scratch lie, in floats; every offset keeps vectors aligned.
struct Scratch {
  std::size_t dim, columns;  ///< head_dim, and rounded up to whole tiles
  float *k, *v, *s, *row;    ///< [kKeys][dim], [kKeys][columns], [kKeys][kPanel], [columns]
  float *q, *o, *o_lost;     ///< [kPanels][dim][kPanel], the others [kPanels][columns][kPanel]
  float *max, *sum, *lost;   ///< [kPanels][kPanel]

  std::size_t floats = 0;  ///< all of it

  Scratch(std::size_t head_dim, float* base) : dim(head_dim), columns(round_up(head_dim, kTile)) {
    const auto take = [base, this](std::size_t count) {
      float* const part = base == nullptr ? nullptr : base + floats;
      floats += round_up(count, kScratchAlignment / sizeof(float));
      return part;
    };
    k = take(kKeys * dim), v = take(kKeys * columns), s = take(kKeys * kPanel), row = take(columns);
    q = take(kRows * dim), o = take(kRows * columns), o_lost = take(kRows * columns);
    max = take(kRows), sum = take(kRows), lost = take(kRows);
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

/// o[column][row] for kTile columns: keys below `clear` are seen by all rows, those up to `end` by rows with key <
/// visible[row]. A weight of 0 does not do for the others: 0 * NaN is NaN.
template <int kV>
HWY_INLINE void value_tile(const float* HWY_RESTRICT p, const float* HWY_RESTRICT v, std::size_t columns, int clear,
                           int end, const Vec* HWY_RESTRICT visible, const Vec* HWY_RESTRICT rescale,
                           float* HWY_RESTRICT o, float* HWY_RESTRICT lost) {
  const Tag d;
  Vec acc[kTile][kV];
  for (auto& sums : acc) {
    for (int i = 0; i < kV; ++i) sums[i] = hn::Zero(d);
  }
  for (int key = 0; key < clear; ++key) {
    Vec weight[kV];
    for (int i = 0; i < kV; ++i) weight[i] = hn::Load(d, p + key * kPanel + i * kLanes);
    for (int j = 0; j < kTile; ++j) {
      const Vec value = hn::Set(d, v[key * columns + j]);
      for (int i = 0; i < kV; ++i) acc[j][i] = hn::MulAdd(weight[i], value, acc[j][i]);
    }
  }
  for (int key = clear; key < end; ++key) {
    for (int i = 0; i < kV; ++i) {
      const Vec weight = hn::Load(d, p + key * kPanel + i * kLanes);
      const auto seen = hn::Lt(hn::Set(d, static_cast<float>(key)), visible[i]);
      for (int j = 0; j < kTile; ++j) {
        acc[j][i] = hn::IfThenElse(seen, hn::MulAdd(weight, hn::Set(d, v[key * columns + j]), acc[j][i]), acc[j][i]);
      }
    }
  }
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

/// Turns scores of `keys` keys into weights, updates the running maximum and sum, and gives what older sums are to be
/// multiplied by.
template <int kV>
HWY_INLINE void softmax(float* HWY_RESTRICT s, int clear, int keys, const Vec* HWY_RESTRICT visible,
                        float* HWY_RESTRICT max, float* HWY_RESTRICT sum, float* HWY_RESTRICT lost,
                        Vec* HWY_RESTRICT rescale) {
  const Tag d;
  const Vec none = hn::Set(d, -kInfinity);
  Vec top[kV], shift[kV], total[kV];
  for (int i = 0; i < kV; ++i) top[i] = hn::Load(d, max + i * kLanes);
  for (int key = 0; key < clear; ++key) {
    for (int i = 0; i < kV; ++i) top[i] = hn::Max(top[i], hn::Load(d, s + key * kPanel + i * kLanes));
  }
  for (int key = clear; key < keys; ++key) {
    for (int i = 0; i < kV; ++i) {
      float* const at = s + key * kPanel + i * kLanes;
      const auto seen = hn::Lt(hn::Set(d, static_cast<float>(key)), visible[i]);
      const Vec score = hn::IfThenElse(seen, hn::Load(d, at), none);
      hn::Store(score, d, at);
      top[i] = hn::Max(top[i], score);
    }
  }
  for (int i = 0; i < kV; ++i) {
    // Rows that have seen nothing yet: -inf - 0 is -inf, whose exponential is 0; -inf - -inf would be NaN.
    shift[i] = hn::IfThenElse(hn::Eq(top[i], none), hn::Zero(d), top[i]);
    rescale[i] = exp_nonpositive(d, hn::Sub(hn::Load(d, max + i * kLanes), shift[i]));
    total[i] = hn::Zero(d);
    hn::Store(top[i], d, max + i * kLanes);
  }
  for (int key = 0; key < keys; ++key) {
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

/// One block of keys for one panel. visible[row] is how many of these keys the row sees, from `clear` (the least) to
/// `end` (the most).
template <int kV>
HWY_INLINE void panel_step(const Scratch& at, int panel, const float* HWY_RESTRICT visible_rows, int clear, int end,
                           float scale) {
  const Tag d;
  Vec visible[kV], rescale[kV];
  for (int i = 0; i < kV; ++i) visible[i] = hn::Load(d, visible_rows + i * kLanes);
  const int keys = static_cast<int>(round_up(end, kTile));
  for (int key = 0; key < keys; key += kTile) {
    score_tile<kV>(at.q + panel * kPanel * at.dim, at.k + key * at.dim, at.dim, scale, at.s + key * kPanel);
  }
  softmax<kV>(at.s, clear, keys, visible, at.max + panel * kPanel, at.sum + panel * kPanel, at.lost + panel * kPanel,
              rescale);
  const std::size_t o = panel * kPanel * at.columns;
  for (std::size_t c = 0; c < at.columns; c += kTile) {
    value_tile<kV>(at.s, at.v + c, at.columns, clear, end, visible, rescale, at.o + o + c * kPanel,
                   at.o_lost + o + c * kPanel);
  }
}

template <class T>
const T* row_of(const TensorView& t, std::int64_t batch, std::int64_t row, std::int64_t head) {
  return static_cast<const T*>(t.data) + batch * t.batch_stride + row * t.row_stride + head * t.head_stride;
}

/// Keys that row `r` of the block's sequence sees.
inline std::int64_t visible_keys(const ForwardProblem& problem, const RowBlock& block, std::int64_t r,
                                 std::int64_t group) {
  if (!problem.causal) return block.seqlen_k;
  return std::clamp<std::int64_t>(r / group + 1 + block.seqlen_k - block.seqlen_q, 0, block.seqlen_k);
}

template <class T>
void load_queries(const ForwardCall& call, const RowBlock& block, std::int64_t group, const Scratch& at) {
  std::fill_n(at.q, kRows * at.dim, 0.0f);
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const std::int64_t row = block.begin + r;
    load_row(row_of<T>(call.q, block.batch, block.q_start + row / group, block.kv_head * group + row % group), at.row,
             at.dim);
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

template <class T>
void store_rows(const ForwardCall& call, const RowBlock& block, std::int64_t group, const Scratch& at) {
  const ForwardProblem& problem = call.problem;
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const std::int64_t row = block.begin + r, token = row / group, head = block.kv_head * group + row % group;
    const bool masked = visible_keys(problem, block, row, group) == 0;
    const float* const from = at.o + r / kPanel * kPanel * at.columns + r % kPanel;
    for (std::size_t x = 0; x < at.dim; ++x) at.row[x] = masked ? 0.0f : from[x * kPanel] / at.sum[r];
    store_row(at.row, const_cast<T*>(row_of<T>(call.o, block.batch, block.q_start + token, head)), at.dim);
    if (call.lse == nullptr) continue;
    const std::int64_t rows = problem.variable_length ? problem.total_q : problem.seqlen_q;
    const std::int64_t line = (problem.variable_length ? 0 : block.batch * problem.heads_q) + head;
    call.lse[line * rows + block.q_start + token] = masked ? -kInfinity : at.max[r] + std::log(at.sum[r]);
  }
}

template <class T>
void run_typed(const ForwardCall& call, const RowBlock& block, float* scratch) {
  const ForwardProblem& problem = call.problem;
  const std::int64_t group = problem.heads_q / problem.heads_kv;
  const Scratch at(problem.head_dim, scratch);
  const int panels = static_cast<int>((block.rows + kPanel - 1) / kPanel);
  load_queries<T>(call, block, group, at);
  std::fill_n(at.o, kRows * at.columns, 0.0f);
  std::fill_n(at.o_lost, kRows * at.columns, 0.0f);
  std::fill_n(at.max, kRows, -kInfinity);
  std::fill_n(at.sum, kRows, 0.0f);
  std::fill_n(at.lost, kRows, 0.0f);

  const std::int64_t last = visible_keys(problem, block, block.begin + block.rows - 1, group);
  for (std::int64_t first = 0; first < last; first += kKeys) {
    const int keys = static_cast<int>(std::min<std::int64_t>(kKeys, last - first));
    load_keys<T>(call.k, block, first, keys, at.dim, at.dim, at.k);
    load_keys<T>(call.v, block, first, keys, at.dim, at.columns, at.v);
    for (int panel = 0; panel < panels; ++panel) {
      const int rows = static_cast<int>(std::min<std::int64_t>(kPanel, block.rows - panel * kPanel));
      HWY_ALIGN float visible[kPanel] = {};
      for (int r = 0; r < rows; ++r) {
        const std::int64_t seen = visible_keys(problem, block, block.begin + panel * kPanel + r, group) - first;
        visible[r] = static_cast<float>(std::clamp<std::int64_t>(seen, 0, keys));
      }
      const int clear = static_cast<int>(visible[0]), end = static_cast<int>(visible[rows - 1]);
      if (end == 0) continue;
      // Lanes past the last row see what it sees: nothing depends on them, and the fast loops stay free of masks.
      std::fill(visible + rows, visible + kPanel, visible[rows - 1]);
      if (rows <= kLanes) {
        panel_step<1>(at, panel, visible, clear, end, call.softmax_scale);
      } else if (rows <= 2 * kLanes) {
        panel_step<2>(at, panel, visible, clear, end, call.softmax_scale);
      } else {
        panel_step<3>(at, panel, visible, clear, end, call.softmax_scale);
      }
    }
  }
  store_rows<T>(call, block, group, at);
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

inline std::size_t scratch_bytes(int head_dim) { return Scratch(head_dim, nullptr).floats * sizeof(float); }

inline void exp_array(const float* x, float* y, std::size_t count) {
  const Tag d;
  for (std::size_t i = 0; i < count; i += kLanes) hn::StoreU(exp_nonpositive(d, hn::LoadU(d, x + i)), d, y + i);
}

inline Kernel kernel() { return {hwy::TargetName(HWY_TARGET), kRows, scratch_bytes, run, exp_array}; }

}  // namespace flashfit::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
