#pragma once
// Kernels that are little more than one product of wgmma, or of two that overlap. Written against arch alone: they run
// under the emulator and on a GPU. One block each, of one warpgroup.
#include "kernels/arch/arch.hpp"
#include "kernels/layout/fragment.hpp"
#include "kernels/layout/panel_tile.hpp"
#include "tensor_copy_kernels.cuh"

namespace flashfit::testing {

/// d [64, n] by its fragments.
template <int Half>
void store_accumulators(float* g_out, const float (&d)[Half]) {
#pragma unroll
  for (int i = 0; i < Half; ++i) {
    const int row = WgmmaAccumulatorMap::row(arch::thread(), i), col = WgmmaAccumulatorMap::col(arch::thread(), i);
    arch::store_if(true, g_out, row * 2 * Half + col, d[i]);
  }
}

/// All panels of a tile, from column 0 on.
template <class Tile>
void load_tile(Tile& s_tile, const TensorMap& map, int row, MBarrier& s_full) {
  for (int i = 0; i < Tile::kPanels; ++i)
    arch::tma_load(s_tile.data, Tile::panel(i), map, {i * Tile::kPanel, row}, s_full);
}

/// out [64, N] = a b: both from shared memory, each with k contiguous, or m and n. All steps of k in one group.
template <class T, int N, int K, SwizzleMode Mode, Major AMajor, Major BMajor>
struct ProductKernel {
  using ATile = PanelTile<T, AMajor == Major::kK ? 64 : K, AMajor == Major::kK ? K : 64, Mode>;
  using BTile = PanelTile<T, BMajor == Major::kK ? N : K, BMajor == Major::kK ? K : N, Mode>;
  struct Params {
    TensorMap a, b;
    float* out;
  };
  struct Shared {
    ATile a;
    BTile b;
    MBarrier full;
  };
  static constexpr int kThreads = 128, kMinBlocks = 1;

  static void run(const Params& p) {
    auto& s = arch::shared<Shared>();
    make_barrier(s.full);
    if (arch::thread() == 0) {
      arch::mbarrier_arrive_expect_tx(s.full, int(sizeof s.a.data + sizeof s.b.data));
      load_tile(s.a, p.a, 0, s.full);
      load_tile(s.b, p.b, 0, s.full);
    }
    arch::mbarrier_wait(s.full, 0);
    const uint32 a = arch::shared_address(s.a.data), b = arch::shared_address(s.b.data);
    float d[N / 2] = {};
    arch::wgmma_fence(d);
#pragma unroll
    for (int k = 0; k < K; k += 16)
      arch::wgmma_m64k16<T, BMajor, AMajor>(
          d, encode(AMajor == Major::kK ? ATile::k_major(a, 0, k) : ATile::mn_major(a, k, 0)),
          encode(BMajor == Major::kK ? BTile::k_major(b, 0, k) : BTile::mn_major(b, k, 0)), k != 0);
    arch::wgmma_commit();
    arch::wgmma_wait<0>(d);
    store_accumulators(p.out, d);
  }
};

/// The heart of a forward pass, without its softmax: o = p_0 v_0 + p_1 v_1, where p_j = q k_j^T / 2 rounded to T. Of
/// the two groups in flight, q k_1^T is waited for first, and halved while p_0 v_0 runs.
template <class T, int D>
struct TwoGroupsKernel {
  using QTile = PanelTile<T, 64, D, SwizzleMode::k128B>;
  struct Params {
    TensorMap q, k, v;  ///< k, v [128, D]
    float* out;         ///< [64, D]
  };
  struct Shared {
    QTile q, k[2], v[2];
    MBarrier full;
  };
  static constexpr int kThreads = 128, kMinBlocks = 1;

  static void issue_qk(float (&x)[32], uint32 q, uint32 k) {
#pragma unroll
    for (int i = 0; i < D; i += 16)
      arch::wgmma_m64k16<T>(x, encode(QTile::k_major(q, 0, i)), encode(QTile::k_major(k, 0, i)), i != 0);
    arch::wgmma_commit();
  }
  static void issue_pv(float (&o)[D / 2], const uint32 (&p)[4][4], uint32 v) {
#pragma unroll
    for (int i = 0; i < 4; ++i) arch::wgmma_m64k16<T, Major::kMN>(o, p[i], encode(QTile::mn_major(v, i * 16, 0)), true);
    arch::wgmma_commit();
  }
  static void halve(float (&x)[32]) {
#pragma unroll
    for (float& value : x) value *= 0.5f;
  }
  static void round(uint32 (&p)[4][4], const float (&x)[32]) {
#pragma unroll
    for (int i = 0; i < 16; ++i) p[i / 4][i % 4] = arch::pack<T>(x[2 * i], x[2 * i + 1]);
  }

  static void run(const Params& params) {
    auto& s = arch::shared<Shared>();
    make_barrier(s.full);
    if (arch::thread() == 0) {
      arch::mbarrier_arrive_expect_tx(s.full, int(sizeof(QTile) * 5));
      load_tile(s.q, params.q, 0, s.full);
      for (int j = 0; j < 2; ++j) load_tile(s.k[j], params.k, j * 64, s.full);
      for (int j = 0; j < 2; ++j) load_tile(s.v[j], params.v, j * 64, s.full);
    }
    arch::mbarrier_wait(s.full, 0);
    const uint32 q = arch::shared_address(s.q.data);
    float x[32] = {}, o[D / 2] = {};
    uint32 p[4][4];
    arch::wgmma_fence(x, o);
    issue_qk(x, q, arch::shared_address(s.k[0].data));
    arch::wgmma_wait<0>(x);
    halve(x);
    round(p, x);
    arch::wgmma_fence(x, p);
    issue_qk(x, q, arch::shared_address(s.k[1].data));
    issue_pv(o, p, arch::shared_address(s.v[0].data));
    arch::wgmma_wait<1>(x);
    halve(x);
    arch::wgmma_wait<0>(o);
    round(p, x);
    arch::wgmma_fence(p);
    issue_pv(o, p, arch::shared_address(s.v[1].data));
    arch::wgmma_wait<0>(o);
    store_accumulators(params.out, o);
  }
};

}  // namespace flashfit::testing
