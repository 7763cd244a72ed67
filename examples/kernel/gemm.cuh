#pragma once
// c = a b^T: a [m, k] and b [n, k] of fp16, c [m, n] of fp32, rows dense, k a multiple of 64. A block of 4 warps owns
// 64 x 64 of c; 64 columns of a and b at a time come through two stages of shared memory by asynchronous copies.
#include "kernels/arch/arch.hpp"
#include "kernels/tile/copy.cuh"
#include "kernels/tile/matmul.cuh"

namespace example {

using namespace flashfit;

struct Gemm {
  static constexpr int kTile = 64, kWarps = 4;
  static constexpr int kThreads = kWarps * 32, kMinBlocks = 1;
  using Tile = SwizzledTile<f16, kTile, kTile>;

  struct Params {
    const f16 *a, *b;
    float* c;
    int m, n, k;
  };
  struct Shared {
    struct Stage {
      Tile a, b;
    } stage[2];
  };

  static void run(const Params& p) {
    Shared& s = arch::shared<Shared>();
    const int first_row = arch::block().y * kTile, first_col = arch::block().x * kTile;
    const auto start = [&](int step) {
      Shared::Stage& stage = s.stage[step % 2];
      TileCopy<f16, Tile, kThreads>(p.a + step * kTile, p.k, p.m, p.k - step * kTile, first_row).start(stage.a);
      TileCopy<f16, Tile, kThreads>(p.b + step * kTile, p.k, p.n, p.k - step * kTile, first_col).start(stage.b);
      arch::cp_async_commit();
    };

    float c[1][kTile / 8][4] = {};
    start(0);
    for (int step = 0; step < p.k / kTile; ++step) {
      arch::cp_async_wait<0>();
      arch::sync_block();  // the stage is there for all, and all have left the other one
      if (step + 1 < p.k / kTile) start(step + 1);
      multiply_abt<f16>(c, SharedA(s.stage[step % 2].a, arch::warp() * 16), s.stage[step % 2].b);
    }

    for (int n = 0; n < kTile / 8; ++n)
      for (int i = 0; i < 4; ++i) {
        const int row = first_row + arch::warp() * 16 + AccumulatorMap::row(arch::lane(), i);
        const int col = first_col + n * 8 + AccumulatorMap::col(arch::lane(), i);
        arch::store_if(row < p.m && col < p.n, p.c, int64(row) * p.n + col, c[0][n][i]);
      }
  }
};

}  // namespace example
