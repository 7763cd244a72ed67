// What happens to scores between their product and the softmax: softcap, ALiBi, bias. Compiled once for each Highway
// target, hence the toggled guard.
#if defined(FLASHFIT_CPU_OPTIONS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHFIT_CPU_OPTIONS_INL
#undef FLASHFIT_CPU_OPTIONS_INL
#else
#define FLASHFIT_CPU_OPTIONS_INL
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "runtime/cpu/convert-inl.hpp"
#include "runtime/cpu/kernel.hpp"
#include "runtime/cpu/panel-inl.hpp"
#include "runtime/cpu/tanh-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace flashfit::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr std::size_t kCacheLine = 64;
inline constexpr float kHidden = -std::numeric_limits<float>::infinity();

/// The query rows of a block, row r being token r / group of one of the group's heads.
struct Rows {
  const ForwardCall& call;
  const RowBlock& block;
  std::int64_t group;

  std::int64_t token(std::int64_t row) const { return row / group; }
  std::int64_t head(std::int64_t row) const { return block.kv_head * group + row % group; }
  /// The key at which a row stands, where causal attention ends.
  std::int64_t position(std::int64_t row) const { return token(row) + block.seqlen_k - block.seqlen_q; }
};

/// Of one panel and one block of keys; nullptr and 0: not asked for.
struct ScoreOptions {
  float softcap = 0;
  const float *slopes = nullptr, *positions = nullptr;  ///< [kPanel]; positions count from the block's first key
  const float* bias = nullptr;                          ///< [kKeys][kPanel], -inf where a row does not see the key

  bool any() const { return softcap > 0 || slopes != nullptr || bias != nullptr; }
};

/// Scores of keys [begin, end) as softmax takes them, in the order that flashfit.h gives.
template <int kV>
HWY_INLINE void apply(const ScoreOptions& options, int begin, int end, float* HWY_RESTRICT s) {
  const Tag d;
  const Vec cap = hn::Set(d, options.softcap);
  for (int key = begin; key < end; ++key) {
    const Vec at = hn::Set(d, static_cast<float>(key));
    for (int i = 0; i < kV; ++i) {
      float* const to = s + key * kPanel + i * kLanes;
      Vec score = hn::Load(d, to);
      if (options.softcap > 0) score = hn::Mul(cap, tanh(d, hn::Div(score, cap)));
      if (options.slopes != nullptr) {
        const Vec distance = hn::Abs(hn::Sub(hn::Load(d, options.positions + i * kLanes), at));
        score = hn::NegMulAdd(hn::Load(d, options.slopes + i * kLanes), distance, score);
      }
      if (options.bias != nullptr) score = hn::Add(score, hn::Load(d, options.bias + key * kPanel + i * kLanes));
      hn::Store(score, d, to);
    }
  }
}

/// Slopes and positions of a panel whose first row is `first_row`; lanes past its rows are as the last.
inline void fill_alibi(const Rows& rows, std::int64_t first_row, int count, std::int64_t first_key, float* slopes,
                       float* positions) {
  const float* const all = rows.call.alibi_slopes + rows.block.sequence * rows.call.alibi_batch_stride;
  for (int r = 0; r < kPanel; ++r) {
    const std::int64_t row = first_row + std::min(r, count - 1);
    slopes[r] = all[rows.head(row)];
    positions[r] = static_cast<float>(rows.position(row) - first_key);
  }
}

/// `count` values of the bias from element `at` on: what is added, -inf where the key is hidden. Whether any is.
template <class T>
bool load_bias(const ForwardCall& call, std::int64_t at, int count, float* to) {
  const std::int64_t step = call.bias_key_stride;
  const auto read = [&](const auto* bias) {
    if (step == 1) {
      // The row's next keys: by the time that they are asked for, other rows have pushed the stream out of sight.
      const char* const next = reinterpret_cast<const char*>(bias + at + kKeys);
      for (std::size_t line = 0; line < kKeys * sizeof *bias; line += kCacheLine) hwy::Prefetch(next + line);
      return load_row(bias + at, to, static_cast<std::size_t>(count));
    }
    for (int j = 0; j < count; ++j) to[j] = to_float(bias[at + j * step]);
  };
  if (call.problem.bias == BiasKind::kVisible) {
    const auto* const bias = static_cast<const unsigned char*>(call.bias) + at;
    for (int j = 0; j < count; ++j) to[j] = bias[j * step] != 0 ? 0.0f : kHidden;
  } else if (call.problem.bias == BiasKind::kF32) {
    read(static_cast<const float*>(call.bias));
  } else {
    read(static_cast<const T*>(call.bias));
  }
  bool hides = false;
  for (int j = 0; j < count; ++j) hides |= to[j] == kHidden;
  return hides;
}

/// Where a panel's bias is made: its rows, and keys [begin, end) of the block of keys that starts at `first_key`, of
/// which row r sees at most from[r] <= key < to[r]. Lanes past its rows are as the last.
struct BiasPlace {
  std::int64_t first_row;
  int count;
  std::int64_t first_key;
  int begin, end;
  const float *from, *to;  ///< [kPanel]
};

inline std::int64_t bias_at(const Rows& rows, const BiasPlace& place, std::int64_t row, int key) {
  const ForwardCall& call = rows.call;
  return rows.block.sequence * call.bias_batch_stride + rows.head(row) * call.bias_head_stride +
         rows.token(row) * call.bias_row_stride + (place.first_key + key) * call.bias_key_stride;
}

/// All rows have one line of bias.
template <class T>
bool fill_shared_bias(const Rows& rows, const BiasPlace& place, float* HWY_RESTRICT line, float* HWY_RESTRICT bias) {
  const Tag d;
  const bool hides = load_bias<T>(rows.call, bias_at(rows, place, place.first_row, place.begin),
                                  place.end - place.begin, line + place.begin);
  for (int key = tile_floor(place.begin); key < tile_ceil(place.end); ++key) {
    const Vec at = hn::Set(d, static_cast<float>(key)), none = hn::Set(d, kHidden);
    const Vec value = key >= place.begin && key < place.end ? hn::Set(d, line[key]) : none;
    for (int i = 0; i < kVectors; ++i) {
      const auto seen =
          hn::And(hn::Ge(at, hn::Load(d, place.from + i * kLanes)), hn::Lt(at, hn::Load(d, place.to + i * kLanes)));
      hn::Store(hn::IfThenElse(seen, value, none), d, bias + key * kPanel + i * kLanes);
    }
  }
  return hides;
}

template <class T>
bool fill_bias_of_rows(const Rows& rows, const BiasPlace& place, float* HWY_RESTRICT line, float* HWY_RESTRICT bias) {
  bool hides = false;
  for (int r = 0; r < kPanel; ++r) {
    const int like = std::min(r, place.count - 1);
    const int low = static_cast<int>(place.from[like]), high = std::max(low, static_cast<int>(place.to[like]));
    if (r < place.count)
      hides |= load_bias<T>(rows.call, bias_at(rows, place, place.first_row + r, low), high - low, line + low);
    float* const column = bias + r;
    for (int key = tile_floor(place.begin); key < low; ++key) column[key * kPanel] = kHidden;
    for (int key = low; key < high; ++key) column[key * kPanel] = line[key];
    for (int key = high; key < tile_ceil(place.end); ++key) column[key * kPanel] = kHidden;
  }
  return hides;
}

/// The bias of a panel, [key][row], for the tiles of the place's keys: -inf where a row does not see a key. Returns
/// whether the bias hides any. `line`: kKeys floats.
template <class T>
bool fill_bias(const Rows& rows, const BiasPlace& place, float* line, float* bias) {
  const ForwardCall& call = rows.call;
  const bool shared = call.bias_row_stride == 0 && (call.bias_head_stride == 0 || rows.group == 1);
  return shared ? fill_shared_bias<T>(rows, place, line, bias) : fill_bias_of_rows<T>(rows, place, line, bias);
}

}  // namespace flashfit::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
