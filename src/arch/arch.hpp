#pragma once
// The instruction contract: all that a kernel may ask of a GPU. The include path chooses who keeps it: src/arch/cuda
// (PTX) or src/emu (CPU fibres).
//
// Places. A kernel is a struct with Params, Shared, kThreads, kMinBlocks and static run(const Params&); its threads are
// whole warps of 32.
//   Index3 block(), grid();  int thread(), lane(), warp();
//       warp() is the same value in all 32 lanes, for the compiler too
//   Shared& shared<Shared>();
//       the block's shared memory, 1024-byte aligned, contents undefined
//
// Scalars.
//   constexpr bool kHas<T>;
//       whether the target computes with T (f16, bf16)
//   float exp2(float), log2(float);
//       2 ulp of fp32; exp2(-inf) = 0, log2(0) = -inf; subnormal results may be 0
//   float max(float, float);
//       the other operand if one is NaN
//   float shuffle_xor(float x, int mask);  uint32 ballot(bool);
//       x of lane ^ mask; bit l is lane l's answer. All 32 lanes call together
//   uint32 pack<T>(float lo, float hi);  float widen<T>(T);
//       two T (f16, bf16), rounded to nearest even, lo in the low half; T to fp32, exactly
//
// Memory. Pointers are (base, element offset), so that a backend can check bounds; no kernel casts pointers.
//   T load(const T* g_base, int64 offset);
//   void store_if<T, V>(bool inside, T* g_base, int64 offset, V value);
//       sizeof(V) bytes, aligned to that; nothing if !inside
//   void cp_async_16<T>(T* s_base, int s_offset, const T* g_base, int64 g_offset, bool inside);
//       16 bytes, both sides 16-byte aligned, zeros if !inside (nothing is read then). May land at any time from here
//       to the wait that orders it
//   void cp_async_commit();
//       closes this thread's group of copies
//   void cp_async_wait<Pending>();
//       until at most Pending of this thread's groups are in flight; others see them after sync_block
//   void sync_block();
//       all threads of the block; orders shared memory
//
// Matrices. All 32 lanes call together; fragments as in layout/fragment.hpp.
//   void ldmatrix_x4<T>(uint32 (&r)[4], const T* s_base, int s_offset);  ldmatrix_x4_trans<T>(...)
//       s_offset: this lane's row, 16-byte aligned; trans: each 8x8 matrix transposed
//   void mma_m16n8k16<T>(float (&d)[4], const uint32 (&a)[4], uint32 b0, uint32 b1);
//       d += a b, fp32 accumulation
#include <flashfit_arch.hpp>

#include "base/types.hpp"
