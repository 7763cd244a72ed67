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
//   void stmatrix_x4<T>(T* s_base, int s_offset, const uint32 (&r)[4]);  stmatrix_x4_trans<T>(...)
//       the inverse of ldmatrix_x4. From 9.0 on
//
// Matrices of a warpgroup: the four warps from a multiple of four on, all lanes of each. For 9.0a. Descriptors come from
// layout/panel_tile.hpp, fragments are those of layout/fragment.hpp. Products run beside the threads: from issue to the
// wait that orders them, what they read may not change, accumulators and registers of A may not be touched, and both
// must stay in scope.
//   uint32 shared_address(const void* s);
//       where descriptors say that it lies
//   void wgmma_fence(r...);
//       names up to four arrays (of arrays) of registers that normal code wrote, or that are used for the first time
//   void wgmma_m64k16<T, Major B, Major A>(float (&d)[N / 2], uint64 a, uint64 b, bool scale_d);
//   void wgmma_m64k16<T, Major B>(float (&d)[N / 2], const uint32 (&a)[4], uint64 b, bool scale_d);
//       d = a b, plus d if scale_d; fp32 accumulation; a m64k16, b k16nN; kK: k is contiguous in memory, the default.
//       a and b in shared memory as TMA, or generic stores and a fence.proxy.async, left them
//   void wgmma_commit();
//       closes the warpgroup's group of products
//   void wgmma_wait<Pending>(r...);
//       until at most Pending groups run; names all accumulators of those that have ended, and none of the others
//
// Tensor copies, issued by one thread. A TensorMap is used where it lies in Params. Boxes start at element `at`,
// innermost first, inside the tensor or not; in shared memory they start where the swizzle's pattern does, without one
// at a multiple of 128 bytes. From 9.0 on.
//   void tma_load<T>(T* s_base, int s_offset, const TensorMap&, const int (&at)[Dims], MBarrier& s_barrier);
//   void tma_load_multicast<T>(..., MBarrier& s_barrier, uint32 blocks);
//       a box of 2 to 5 dimensions; then all of its bytes, also those outside the tensor, are counted on the mbarrier;
//       multicast: to the same place in each block of the cluster whose bit is set, and on its mbarrier
//   void tma_store<T>(const TensorMap&, const int (&at)[Dims], const T* s_base, int s_offset);  tma_reduce_add<T>(...)
//       what lies inside the tensor; add: to what is there, in the map's type. Reads what generic stores wrote before a
//       fence.proxy.async. Belongs to this thread's group of bulk copies
//   void prefetch_tensor_map(const TensorMap&);
#include <flashfit_arch.hpp>

#include "base/types.hpp"
