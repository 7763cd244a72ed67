#pragma once
// Kernels that are little more than one tensor copy. Written against arch alone: they run under the emulator and on a
// GPU. One block each.
#include "kernels/arch/arch.hpp"
#include "kernels/layout/fragment.hpp"
#include "kernels/layout/panel_tile.hpp"
#include "kernels/layout/tensor_map.hpp"

namespace flashfit::testing {

/// One thread makes the barrier that tells of a load; engines must know of it before they signal.
inline void make_barrier(MBarrier& s_full) {
  if (arch::thread() == 0) {
    arch::mbarrier_init(s_full, 1);
    arch::fence_mbarrier_init();
  }
  arch::sync_block();
}

/// Loads the box at `at` and writes out what lies where: `out` is the raw image of shared memory.
template <int Dims, SwizzleMode Mode, int Elements>
struct LoadBoxKernel {
  struct Params {
    TensorMap map;
    f16* out;  ///< [Elements]
    int at[Dims];
  };
  struct Shared {
    alignas(1024) f16 box[Elements];
    MBarrier full;
  };
  static constexpr int kThreads = 64, kMinBlocks = 1;

  static void run(const Params& p) {
    auto& s = arch::shared<Shared>();
    make_barrier(s.full);
    if (arch::thread() == 0) {
      arch::prefetch_tensor_map(p.map);
      arch::mbarrier_arrive_expect_tx(s.full, Elements * 2);
      arch::tma_load(s.box, 0, p.map, p.at, s.full);
    }
    arch::mbarrier_wait(s.full, 0);
    for (int i = arch::thread(); i < Elements; i += kThreads)
      arch::store_if(true, p.out, i, arch::load_shared(s.box, i));
  }
};

/// Stores what of the box at `at` lies inside the tensor, or adds it: `in` is the raw image of shared memory.
template <int Dims, SwizzleMode Mode, int Elements, bool Add>
struct StoreBoxKernel {
  struct Params {
    TensorMap map;
    const f16* in;  ///< [Elements]
    int at[Dims];
  };
  struct Shared {
    alignas(1024) f16 box[Elements];
  };
  static constexpr int kThreads = 64, kMinBlocks = 1;

  static void run(const Params& p) {
    auto& s = arch::shared<Shared>();
    for (int i = arch::thread(); i < Elements; i += kThreads) arch::store_shared(s.box, i, arch::load(p.in, i));
    arch::fence_proxy_async();  // the box
    arch::sync_block();
    if (arch::thread() != 0) return;
    if constexpr (Add)
      arch::tma_reduce_add(p.map, p.at, s.box, 0);
    else
      arch::tma_store(p.map, p.at, s.box, 0);
    arch::bulk_commit();
    arch::bulk_wait<0>();  // for the box
  }
};

/// Loads a 64 x 64 tile panel by panel, turns it through registers into a second one (ldmatrix, stmatrix; with Trans
/// transposed) and stores that where it may leave the tensor, or adds it to what is there.
template <SwizzleMode Mode, bool Trans, bool Add>
struct TurnTileKernel {
  using Tile = PanelTile<f16, 64, 64, Mode>;
  struct Params {
    TensorMap in, out;
    int in_at[2], out_at[2];
  };
  struct Shared {
    Tile in, out;
    MBarrier full;
  };
  static constexpr int kThreads = 128, kMinBlocks = 1;

  static void run(const Params& p) {
    auto& s = arch::shared<Shared>();
    const int lane = arch::lane(), row = arch::warp() * 16;
    make_barrier(s.full);
    if (arch::thread() == 0) {
      arch::mbarrier_arrive_expect_tx(s.full, int(sizeof s.in));
      for (int i = 0; i < Tile::kPanels; ++i)
        arch::tma_load(s.in.data, Tile::panel(i), p.in, {p.in_at[0] + i * Tile::kPanel, p.in_at[1]}, s.full);
    }
    arch::mbarrier_wait(s.full, 0);
    for (int col = 0; col < 64; col += 16) {
      uint32 r[4];
      arch::ldmatrix_x4(r, s.in.data,
                        Tile::offset(row + LdmatrixMap::down_row(lane), col + LdmatrixMap::down_col(lane)));
      if constexpr (Trans)
        arch::stmatrix_x4_trans(
            s.out.data, Tile::offset(col + LdmatrixMap::right_row(lane), row + LdmatrixMap::right_col(lane)), r);
      else
        arch::stmatrix_x4(s.out.data,
                          Tile::offset(row + LdmatrixMap::down_row(lane), col + LdmatrixMap::down_col(lane)), r);
    }
    arch::fence_proxy_async();
    arch::sync_block();
    if (arch::thread() != 0) return;
    for (int i = 0; i < Tile::kPanels; ++i) {
      const int at[2] = {p.out_at[0] + i * Tile::kPanel, p.out_at[1]};
      if constexpr (Add)
        arch::tma_reduce_add(p.out, at, s.out.data, Tile::panel(i));
      else
        arch::tma_store(p.out, at, s.out.data, Tile::panel(i));
    }
    arch::bulk_commit();
    arch::bulk_wait<0>();
  }
};

/// Two blocks load half of a 64 x 64 tile each, for both. out [2][64 * 64]: the image in each block.
struct MulticastBoxKernel {
  using Tile = PanelTile<f16, 64, 64, SwizzleMode::k128B>;
  struct Params {
    TensorMap map;  ///< boxes of 64 columns and 32 rows
    f16* out;
  };
  struct Shared {
    Tile tile;
    MBarrier full;
  };
  static constexpr int kThreads = 64, kMinBlocks = 1, kCluster = 2;

  static void run(const Params& p) {
    auto& s = arch::shared<Shared>();
    const int rank = arch::block_in_cluster(), elements = int(sizeof s.tile.data / sizeof(f16));
    if (arch::thread() == 0) {
      arch::mbarrier_init(s.full, 1);
      arch::fence_mbarrier_init();
    }
    arch::cluster_arrive();
    arch::cluster_wait();
    if (arch::thread() == 0) {
      arch::mbarrier_arrive_expect_tx(s.full, elements * 2);
      arch::tma_load_multicast(s.tile.data, rank * elements / 2, p.map, {0, rank * 32}, s.full, 3);
    }
    arch::mbarrier_wait(s.full, 0);
    for (int i = arch::thread(); i < elements; i += kThreads)
      arch::store_if(true, p.out, rank * elements + i, arch::load_shared(s.tile.data, i));
    arch::cluster_arrive();
    arch::cluster_wait();
  }
};

}  // namespace flashfit::testing
