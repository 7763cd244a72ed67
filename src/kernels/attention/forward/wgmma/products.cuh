#pragma once
// The products of a warpgroup's 64 rows: by wgmma, and by mma.sync those of rows whose bases were late.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/warp_tile.cuh"
#include "kernels/attention/forward/wgmma/heads/config.hpp"
#include "kernels/attention/forward/wgmma/late_bases.cuh"
#include "kernels/attention/forward/wgmma/shared.cuh"
#include "kernels/attention/softmax.cuh"
#include "kernels/layout/fragment.hpp"

namespace flashfit {

/// weigh_again() takes a function that returns the tile of Q: so its address is computed where it is used, and takes no
/// register in the main loop.
template <ForwardConfig C>
struct WgmmaProducts {
  using T = Element<C.dtype>;
  using TileQ = typename WgmmaShared<C>::TileQ;
  using TileK = typename WgmmaShared<C>::TileK;
  using TileV = typename WgmmaShared<C>::TileV;
  using Warp = WarpTile<C>;
  static constexpr int kN = C.block_n, kD = C.head_dim_v;
  using Scores = float[kN / 2];
  using Outputs = float[kD / 2];
  using Weights = uint32[kN / 16][4];

  /// S = Q K^T, for the warpgroup's rows.
  static void multiply_qk(Scores& x, const TileQ& s_q, const TileK& s_k, int group) {
    const uint64 q = encode(TileQ::k_major(arch::shared_address(s_q.data), group * kWarpgroupRows, 0));
    const uint64 k = encode(TileK::k_major(arch::shared_address(s_k.data), 0, 0));
#pragma unroll
    for (int i = 0; i < C.head_dim; i += 16)
      arch::wgmma_m64k16<T>(x, TileQ::moved(q, 0, i), TileK::moved(k, 0, i), i != 0);
    arch::wgmma_commit();
  }
  /// O += P V.
  static void multiply_pv(Outputs& o, const Weights& w, const TileV& s_v) {
    const uint64 v = encode(TileV::mn_major(arch::shared_address(s_v.data), 0, 0));
#pragma unroll
    for (int i = 0; i < kN / 16; ++i) arch::wgmma_m64k16<T, Major::kMN>(o, w[i], TileV::moved(v, i * 16, 0), true);
    arch::wgmma_commit();
  }

  static void zero(Outputs& o) {
#pragma unroll
    for (int i = 0; i < kD / 2; ++i) o[i] = 0.f;
  }
  static void round(Weights& w, const Scores& x) {
#pragma unroll
    for (int i = 0; i < kN / 4; ++i) w[i / 4][i % 4] = arch::pack<T>(x[2 * i], x[2 * i + 1]);
  }

  /// Weights of lost rows, their sums and bases from scores that mma.sync makes, which one warp can do alone. `finish`
  /// makes scores of the products with 16 keys from a place in the tile on.
  template <class Q, class Finish>
  static void weigh_again(Weights& w, float (&sums)[1][2], LateRows& late, Q q, const TileK& k, float scale_log2,
                          Finish finish) {
    float tops[2] = {kMinusInfinity, kMinusInfinity};
#pragma unroll 1
    for (int key = 0; key < kN; key += 16) {
      float c[1][2][4] = {};
      multiply_16_keys(c, q, k, key);
      finish(c, key);
#pragma unroll
      for (int h = 0; h < 2; ++h) tops[h] = arch::max(tops[h], top_score(c, 0, h));
    }
    RowState rows[1][2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float base = row_max(tops[h]) * scale_log2;
      if (late.lost[h]) late.bases[h] = base, sums[0][h] = 0.f;
      rows[0][h] = {late.bases[h], 0.f};
    }
#pragma unroll
    for (int key = 0; key < kN; key += 16) {
      float c[1][2][4] = {}, more[1][2];
      multiply_16_keys(c, q, k, key);
      finish(c, key);
      exponentiate(c, more, rows, scale_log2);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        if (!late.lost[h]) continue;
        sums[0][h] += more[0][h];
#pragma unroll
        for (int i = 0; i < 2; ++i) w[key / 16][2 * i + h] = arch::pack<T>(c[0][i][2 * h], c[0][i][2 * h + 1]);
      }
    }
  }

 private:
  template <class Q>
  static void multiply_16_keys(float (&c)[1][2][4], Q q, const TileK& k, int key) {
    // A shuffle, so that the compiler cannot keep what follows from the lane in registers through the main loop.
    const int lane = arch::shuffle_xor(arch::lane(), 0);
#pragma unroll 1
    for (int i = 0; i < C.head_dim; i += 16) {
      uint32 a[4], b[4];
      arch::ldmatrix_x4(
          a, q().data, TileQ::offset(Warp::first_row() + LdmatrixMap::down_row(lane), i + LdmatrixMap::down_col(lane)));
      arch::ldmatrix_x4(b, k.data, TileK::offset(key + LdmatrixMap::right_row(lane), i + LdmatrixMap::right_col(lane)));
      arch::mma_m16n8k16<T>(c[0][0], a, b[0], b[1]);
      arch::mma_m16n8k16<T>(c[0][1], a, b[2], b[3]);
    }
  }
};

}  // namespace flashfit
