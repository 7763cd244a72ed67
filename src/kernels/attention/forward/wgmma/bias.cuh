#pragma once
// A bias where a lane has the scores of two rows in registers: two neighbouring keys of a row at once, of some keys at
// a time, as there are no registers for all.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/bias_log2.cuh"
#include "kernels/attention/forward_params.hpp"
#include "kernels/attention/mask.cuh"
#include "kernels/attention/schedule.cuh"
#include "kernels/layout/fragment.hpp"

namespace flashfit {

/// Adds the bias to the scores of rows first_row .. and 8 N8 keys from first_key on. The bias' keys lie side by side,
/// and two of them where they can be loaded at once (ForwardProblem::bias_by_element is false). T: what q is of.
template <class T, int N8>
class TileBias {
  static constexpr int kAtOnce =
      N8 < 4 ? N8 : 4;  // n8 tiles whose bias is in registers; loads of the next ones are in flight
  static_assert(N8 % kAtOnce == 0);

 public:
  TileBias(const ForwardParams& p, const Work& work, int first_row, int first_key) : p_(p) {
    const int lane = arch::lane(), row = first_row + AccumulatorMap::row(lane, 0), end = work.queries - 1;
    const int key = first_key + AccumulatorMap::col(lane, 0);
    const int64 at = work.sequence * p.bias_batch + work.head * p.bias_head + key;
    // Rows that there are not get what the last one does.
#pragma unroll
    for (int h = 0; h < 2; ++h) at_[h] = at + (row + 8 * h < end ? row + 8 * h : end) * p.bias_row;
    keys_ = work.keys - key;
  }

  /// Products times `scale` become scores in units of log2. A bias of -inf hides a key whatever its score: that of a
  /// NaN too. All 32 lanes of a warp call this together.
  void add(float (&c)[1][N8][4], float scale) const {
    if (p_.bias_kind == BiasKind::kVisible)
      each<unsigned short, unsigned char>(c, [&](float& x, unsigned short pair, int i) {
        x = (pair >> 8 * i & 255) == 0 ? kMinusInfinity : x * scale;
      });
    else if (p_.bias_kind == BiasKind::kLikeQ)
      each<uint32, T>(c, [&](float& x, uint32 pair, int i) {
        add<T>(x, arch::widen(T{static_cast<unsigned short>(pair >> 16 * i)}), scale);
      });
    else if (p_.bias_kind == BiasKind::kF32)
      each<uint64, float>(c, [&](float& x, uint64 pair, int i) {
        add<float>(x, __builtin_bit_cast(float, static_cast<uint32>(pair >> 32 * i)), scale);
      });
    else
#pragma unroll
      for (int n = 0; n < 4 * N8; ++n) c[0][n / 4][n % 4] *= scale;
  }

 private:
  /// Pair: two elements of the bias, of type B. change(score, pair, which of the two).
  template <class Pair, class B, class Change>
  void each(float (&c)[1][N8][4], Change change) const {
    const B* const g_rows[2] = {static_cast<const B*>(p_.bias) + at_[0], static_cast<const B*>(p_.bias) + at_[1]};
    Pair pairs[2][kAtOnce][2];
    ask(pairs[0], g_rows, 0);
#pragma unroll
    for (int first = 0; first < N8; first += kAtOnce) {
      const int now = first / kAtOnce % 2;
      if (first + kAtOnce < N8) ask(pairs[now ^ 1], g_rows, first + kAtOnce);
#pragma unroll
      for (int n = 0; n < kAtOnce; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) change(c[0][first + n][i], pairs[now][n][i / 2], i % 2);
      arch::sync_warp();  // else the compiler loads all of them at once, for which there are no registers
    }
  }
  template <class Pair, class B>
  void ask(Pair (&pairs)[kAtOnce][2], const B* const (&g_rows)[2], int first) const {
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        pairs[n][h] = 0;
        if ((first + n) * 8 < keys_) pairs[n][h] = arch::load<Pair>(g_rows[h], (first + n) * 8);
      }
  }
  template <class B>
  static void add(float& x, float bias, float scale) {
    x = arch::multiply_add(x, scale, bias_log2<B>(bias));  // in any case: else the compiler loads `scale` each time
    if (bias == kMinusInfinity) x = kMinusInfinity;
  }

  const ForwardParams& p_;
  int64 at_[2];  // of the rows' first element
  int keys_;     // of the sequence, from the lane's first one on
};

}  // namespace flashfit
