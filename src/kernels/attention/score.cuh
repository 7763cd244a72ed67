#pragma once
// What a general row does to scores before the softmax: softcap, ALiBi and bias, in the order of FlashAttention.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/bias_log2.cuh"
#include "kernels/attention/forward_params.hpp"
#include "kernels/attention/mask.cuh"
#include "kernels/attention/schedule.cuh"
#include "kernels/layout/fragment.hpp"

namespace flashfit {

/// tanh(y), y = x ln 2 / 2: 1 - 2 / (2^x + 1), within 2^-22 of it and right at both infinities; below 2^-5, where that
/// cancels, the first two terms of its series, within 2^-23 of it relatively.
inline float tanh_of_half_log2(float x) {
  const float y = x * 0.346573590279972655f, square = y * y;
  const float series = y - y * square * 0.333333333f;
  return square < 0x1p-10f ? series : 1.f - 2.f * arch::reciprocal(arch::exp2(x) + 1.f);
}

/// The scores of one head of one sequence, in units of log2: what exp2 takes. Each option by itself over all scores
/// that a lane has, so that an option that is not used costs one branch. Biased: in a kernel that takes biases.
template <class T, bool Biased>
class Scoring {
 public:
  Scoring(const ForwardParams& p, const Work& work) : p_(p), work_(work) {}

  /// Turns products q k into scores: c[n] belongs to `row` and key(n). A bias that hides a key makes its score -inf.
  /// Rows and keys may lie outside: their scores are without meaning then, and nothing is read.
  template <int N, class Key>
  void operator()(float (&c)[N], int row, Key key) const {
    const float scale_log2 = p_.softmax_scale * kLog2E;
    if (p_.softcap > 0.f) {
      const float cap = p_.softcap * kLog2E, to_cap = 2.f * p_.softmax_scale * kLog2E / p_.softcap;
#pragma unroll
      for (int n = 0; n < N; ++n) c[n] = cap * tanh_of_half_log2(c[n] * to_cap);
    } else {
#pragma unroll
      for (int n = 0; n < N; ++n) c[n] *= scale_log2;
    }
    if (p_.alibi_slopes != nullptr) {
      const float slope = arch::load(p_.alibi_slopes, work_.sequence * p_.alibi_batch + work_.head) * kLog2E;
      const int diagonal = row + work_.keys - work_.queries;
#pragma unroll
      for (int n = 0; n < N; ++n) {
        const int distance = diagonal - key(n);
        c[n] -= slope * static_cast<float>(distance < 0 ? -distance : distance);
      }
    }
    if (!Biased || p_.bias_kind == BiasKind::kNone || row >= work_.queries) return;
    const int64 at = work_.sequence * p_.bias_batch + work_.head * p_.bias_head + row * p_.bias_row;
    if (p_.bias_kind == BiasKind::kVisible)
      add_bias<unsigned char>(c, at, key, [](unsigned char seen) { return seen != 0 ? 0.f : kMinusInfinity; });
    else if (p_.bias_kind == BiasKind::kLikeQ)
      add_bias<T>(c, at, key, [](T bias) { return arch::widen(bias); });
    else
      add_bias<float>(c, at, key, [](float bias) { return bias; });
  }

 private:
  template <class B, int N, class Key, class Value>
  void add_bias(float (&c)[N], int64 row_at, Key key, Value value) const {
    // All are loaded before the first is added, else each load waits for the one before; and all are added, else the
    // compiler branches for each.
    const B* g_bias = static_cast<const B*>(p_.bias) + row_at + key(0) * p_.bias_key;
    B biases[N];
#pragma unroll
    for (int n = 0; n < N; ++n) {
      if (n > 0) g_bias += (key(n) - key(n - 1)) * p_.bias_key;
      biases[n] = B{};
      if (key(n) < work_.keys) biases[n] = arch::load(g_bias, 0);
    }
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const float bias = value(biases[n]);
      c[n] += bias_log2<B>(bias);
      if (bias == kMinusInfinity) c[n] = kMinusInfinity;  // the key is hidden, whatever its score: a NaN, too
    }
  }

  const ForwardParams& p_;
  const Work& work_;
};

/// Makes scores of a tile's products. c covers rows first_row .. and keys first_key ...
template <class Scoring, int M, int N8>
void score_tile(float (&c)[M][N8][4], int first_row, int first_key, const Scoring& scoring) {
  const int lane = arch::lane();
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float row[2 * N8];
#pragma unroll
      for (int n = 0; n < 2 * N8; ++n) row[n] = c[m][n / 2][2 * h + n % 2];
      scoring(row, first_row + m * 16 + AccumulatorMap::row(lane, 2 * h),
              [&](int n) { return first_key + n / 2 * 8 + AccumulatorMap::col(lane, n % 2); });
#pragma unroll
      for (int n = 0; n < 2 * N8; ++n) c[m][n / 2][2 * h + n % 2] = row[n];
    }
}

}  // namespace flashfit
