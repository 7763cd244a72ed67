#pragma once
// Kernels that show what an instruction does: operands in, registers out.
#include "kernels/arch/arch.hpp"

namespace flashfit::hardware {

/// What a kernel without shared memory declares.
struct NoShared {
  char unused[16];
};

/// A block multiplies one case's fragments: d = a b + c, registers as lanes hold them, lane by lane.
template <class T>
struct MmaProbe {
  struct Params {
    const uint32 *a, *b;  ///< [cases][32][4], [cases][32][2]
    const float* c;       ///< [cases][32][4]
    float* d;             ///< likewise
  };
  using Shared = NoShared;
  static constexpr int kThreads = 32, kMinBlocks = 1;

  static void run(const Params& p) {
    const int64 at = int64(arch::block().x) * 32 + arch::lane();
    uint32 a[4], b[2];
    float d[4];
    for (int i = 0; i < 4; ++i) a[i] = arch::load(p.a, at * 4 + i);
    for (int i = 0; i < 2; ++i) b[i] = arch::load(p.b, at * 2 + i);
    for (int i = 0; i < 4; ++i) d[i] = arch::load(p.c, at * 4 + i);
    arch::mma_m16n8k16<T>(d, a, b[0], b[1]);
    for (int i = 0; i < 4; ++i) arch::store_if(true, p.d, at * 4 + i, d[i]);
  }
};

/// Element i of shared memory is i; lane l gives the row at offsets[l] and stores what it gets.
template <bool Trans>
struct LdmatrixProbe {
  static constexpr int kElements = 4096;
  struct Params {
    const int* offsets;  ///< [cases][32], in elements
    uint32* out;         ///< [cases][32][4]
  };
  struct Shared {
    f16 data[kElements];
  };
  static constexpr int kThreads = 32, kMinBlocks = 1;

  static void run(const Params& p) {
    Shared& s = arch::shared<Shared>();
    for (int i = arch::lane(); i < kElements; i += 32) s.data[i].bits = static_cast<unsigned short>(i);
    arch::sync_block();
    const int64 at = int64(arch::block().x) * 32 + arch::lane();
    const int offset = arch::load(p.offsets, at);
    uint32 r[4];
    if constexpr (Trans)
      arch::ldmatrix_x4_trans(r, s.data, offset);
    else
      arch::ldmatrix_x4(r, s.data, offset);
    for (int i = 0; i < 4; ++i) arch::store_if(true, p.out, at * 4 + i, r[i]);
  }
};

/// Scalar functions of x and y, an element a thread.
struct ScalarProbe {
  struct Params {
    const float *x, *y;
    float *exp2, *log2, *max, *widened, *widened_brain;
    uint32 *half, *brain;  ///< pack(x, y)
    float* max_or_nan;
  };
  using Shared = NoShared;
  static constexpr int kThreads = 128, kMinBlocks = 1;

  static void run(const Params& p) {
    const int64 i = int64(arch::block().x) * kThreads + arch::thread();
    const float x = arch::load(p.x, i), y = arch::load(p.y, i);
    arch::store_if(true, p.exp2, i, arch::exp2(x));
    arch::store_if(true, p.log2, i, arch::log2(x));
    arch::store_if(true, p.max, i, arch::max(x, y));
    arch::store_if(true, p.max_or_nan, i, arch::max_or_nan(x, y));
    const uint32 half = arch::pack<f16>(x, y), brain = arch::pack<bf16>(x, y);
    arch::store_if(true, p.half, i, half);
    arch::store_if(true, p.brain, i, brain);
    arch::store_if(true, p.widened, i, arch::widen(f16{static_cast<unsigned short>(i)}));
    arch::store_if(true, p.widened_brain, i, arch::widen(bf16{static_cast<unsigned short>(i)}));
  }
};

/// Each lane's x after a shuffle by every mask, and every lane's vote on bit m of its lane number.
struct WarpProbe {
  struct Params {
    const float* x;   ///< [32]
    float* shuffled;  ///< [32 masks][32]
    uint32* votes;    ///< [5][32]
  };
  using Shared = NoShared;
  static constexpr int kThreads = 32, kMinBlocks = 1;

  static void run(const Params& p) {
    const int lane = arch::lane();
    const float x = arch::load(p.x, lane);
    for (int m = 0; m < 32; ++m) arch::store_if(true, p.shuffled, m * 32 + lane, arch::shuffle_xor(x, m));
    for (int m = 0; m < 5; ++m) arch::store_if(true, p.votes, m * 32 + lane, arch::ballot((lane >> m & 1) != 0));
  }
};

/// What lanes tell one another of integers: out [6][32] of signed, then of unsigned numbers.
struct IntegerProbe {
  struct Params {
    const int* x;  ///< [32]
    int* out;
    uint32* unsigned_out;
  };
  using Shared = NoShared;
  static constexpr int kThreads = 32, kMinBlocks = 1;

  template <class T>
  static void show(T x, T* out) {
    const int lane = arch::lane();
    const T shown[6] = {arch::shuffle_xor(x, 21), arch::shuffle(x, lane / 3), arch::shuffle(x, 31),
                        arch::warp_sum(x),        arch::warp_min(x),          arch::warp_max(x)};
    for (int i = 0; i < 6; ++i) arch::store_if(true, out, i * 32 + lane, shown[i]);
  }
  static void run(const Params& p) {
    const int x = arch::load(p.x, arch::lane());
    show(x, p.out);
    show(static_cast<uint32>(x), p.unsigned_out);
  }
};

/// Copies a row of 8 elements a thread to shared memory, or zeros where `inside` is 0, in two groups; stores what a
/// neighbour's copy left there.
struct CopyProbe {
  struct Params {
    const f16* from;    ///< [64][8]
    const int* inside;  ///< [64]
    uint32* out;        ///< [64][4]
  };
  struct Shared {
    f16 data[64 * 8];
  };
  static constexpr int kThreads = 64, kMinBlocks = 1;

  static void run(const Params& p) {
    Shared& s = arch::shared<Shared>();
    const int t = arch::thread(), other = kThreads - 1 - t;
    arch::cp_async_16(s.data, t * 8, p.from, int64(t) * 8, arch::load(p.inside, t) != 0);
    arch::cp_async_commit();
    arch::cp_async_commit();
    arch::cp_async_wait<1>();
    arch::sync_block();
    for (int i = 0; i < 4; ++i)
      arch::store_if(true, p.out, other * 4 + i,
                     uint32(s.data[other * 8 + 2 * i].bits) | uint32(s.data[other * 8 + 2 * i + 1].bits) << 16);
  }
};

}  // namespace flashfit::hardware
