#pragma once
// The instruction contract: all that a kernel may ask of a GPU. The include path chooses who keeps it:
// src/kernels/arch/cuda (PTX) or src/proof/emu (CPU fibres).
//
// Places. A kernel is a struct with Params, Shared, kThreads, kMinBlocks and static run(const Params&); its threads are
// whole warps of 32.
//   Index3 block(), grid();  int thread(), lane(), warp();
//       warp() is the same value in all 32 lanes, for the compiler too: all 32 call it together
//   Shared& shared<Shared>();
//       the block's shared memory, 1024-byte aligned, contents undefined
//
// Scalars.
//   constexpr bool kHas<T>;
//       whether the target computes with T (f16, bf16)
//   float exp2(float), log2(float);
//       within 2^-22 of the result, log2 of 0.5 .. 2 within 2^-22 (PTX ISA, "ex2", "lg2"); exp2(-inf) = 0,
//       log2(0) = -inf; subnormal operands and results may be taken as 0
//   float reciprocal(float);
//       within 2^-23 of the result (PTX ISA, "rcp")
//   float multiply_add(float a, float b, float c);
//       a b + c, rounded once
//   float max(float, float);
//       the other operand if one is NaN
//   float max_or_nan(float, float);
//       NaN if one is
//   T shuffle_xor(T x, int mask);  T shuffle(T x, int from);  uint32 ballot(bool);
//       x of lane ^ mask, of lane `from`, 0 .. 31 (T: float, int, uint32); bit l is lane l's answer. All 32 lanes call
//       together
//   T warp_sum(T x);  T warp_min(T x);  T warp_max(T x);
//       over all 32 lanes, in each of them; T: int, uint32, sums modulo 2^32. All 32 lanes call together
//   int count_bits(uint32);
//       how many are 1
//   uint32 pack<T>(float lo, float hi);  float widen<T>(T);
//       two T (f16, bf16), rounded to nearest even, lo in the low half; T to fp32, exactly
//
// Memory. Pointers are (base, element offset), so that a backend can check bounds; no kernel casts pointers.
//   T load(const T* g_base, int64 offset);  V load<V, T>(const T* g_base, int64 offset);
//   void store_if<T, V>(bool inside, T* g_base, int64 offset, V value);
//       sizeof(V) bytes, aligned to that, so Bytes16 is one load of 16 bytes; nothing if !inside
//   Bytes16 load_read_only<T>(const T* g_base, int64 offset);
//       16 bytes, aligned to that, of memory that nobody writes while the grid runs
//   SharedPlace<T> in_one_register<T>(T* s_base, int s_offset);
//       the same place in shared memory, whose sums with constants cost neither an instruction nor a register. For what
//       changes with each round of a loop
//   void cp_async_16<T>(T* s_base, int s_offset, const T* g_base, int64 g_offset, bool inside);
//       16 bytes, both sides 16-byte aligned, zeros if !inside (nothing is read then). May land at any time from here
//       to the wait that orders it
//   constexpr bool kCopiesAreAsync;
//       false where cp_async_16 lands at once, and so keeps the thread waiting
//   void cp_async_commit();
//       closes this thread's group of copies
//   void cp_async_wait<Pending>();
//       until at most Pending of this thread's groups are in flight; others see them after sync_block
//   void sync_block();  bool sync_block_or(bool);
//       all threads of the block; orders memory among them. Whether one of them said so
//   CachePolicy cache_policy<Eviction>(float fraction = 1);
//       a hint to L2, kFirst or kLast, for so many of the addresses: more than 0, at most 1. A last argument of
//       load_read_only, cp_async_16, copy_bulk_to_shared and tma_load. No result depends on it. From 8.0 on
//
// Atomics on global memory, each one step, at the scope of the GPU (kernels/arch/memory_order.hpp): what a thread knows
// of when it releases comes before what another, of whatever block, does after it acquired at the same place what that
// release wrote, or what other atomics made of it. T: int, uint32, uint64; additions also float. Aligned to T.
//   T atomic_add<Order>(T* g_base, int64 offset, T value);  atomic_max<Order>(...);  atomic_exchange<Order>(...)
//   T atomic_compare_exchange<Order>(T* g_base, int64 offset, T expected, T value);
//       what was there before; the last one writes only if that was `expected`
//   void reduce_add<Order>(T* g_base, int64 offset, T value);
//       kRelaxed or kRelease
//   T load_acquire(const T* g_base, int64 offset);  void store_release(T* g_base, int64 offset, T value);
//
// Shared memory through the contract, as what asynchronous engines read or overwrite must be: the emulator orders it.
//   V load_shared<V = T, T>(const T* s_base, int s_offset);  void store_shared<T, V>(T* s_base, int s_offset, V value);
//       sizeof(V) bytes, aligned to that
//   T load_remote(..., int block);  void store_remote<T, V>(..., V value, int block);
//       the same place in another block of the cluster
//
// Waiting. Whatever a thread did before it arrives is ordered before what others do after the wait.
//   void sync_warp(uint32 mask = ~0u);
//       the lanes of the mask
//   bool elect_one();
//       true in one lane of a whole warp. From here on: 9.0 and later, but for named barriers
//   void named_barrier_sync(int id, int threads);  named_barrier_arrive(int id, int threads);
//       id 1 .. 15 of the block; whole warps; complete when `threads` have arrived. All that meet name the same number
//   int block_in_cluster();  void cluster_arrive();  cluster_wait();
//       a kernel with kCluster runs in clusters of so many blocks along x. All threads arrive, later all wait. Another
//       block's shared memory is there from the first wait on until that block ends
//   void mbarrier_init(MBarrier& s_barrier, int arrivals);  mbarrier_inval(MBarrier&);
//       one thread; others use it after a barrier. Its 8 bytes are nobody's else until mbarrier_inval
//   void mbarrier_arrive(MBarrier&, int count = 1);  mbarrier_arrive_remote(MBarrier&, int block, int count = 1);
//   void mbarrier_expect_tx(MBarrier&, int bytes);  mbarrier_arrive_expect_tx(MBarrier&, int bytes);
//       a phase is complete when all its arrivals have come and the bytes expected in it are copied; then the next
//       begins
//   void cp_async_mbarrier_arrive(MBarrier&);  cp_async_mbarrier_arrive_noinc(MBarrier&);
//       one arrival when all of this thread's cp_async_16 so far have landed, closed groups or not; who waits sees
//       them, but nothing else of this thread. noinc: one of the arrivals that the barrier was made for; else one more,
//       so that the thread still owes its own
//   bool mbarrier_test(MBarrier&, int parity);  void mbarrier_wait(MBarrier&, int parity);
//       whether, until, the phase of this parity is complete. The first has parity 0; on a fresh barrier parity 1
//       passes. A barrier may not complete a second phase before all have passed the first
//   void mbarrier_wait_cluster(MBarrier&, int parity);
//       the same, and ordered after arrivals from other blocks too
//   void fence_mbarrier_init();
//       this thread's barriers may count copies' bytes from here on; other threads may use them after a barrier
//   void fence_proxy_async();  fence_proxy_async_global();
//       generic accesses known here are ordered before asynchronous ones that are ordered after this: those to shared
//       memory, those to global memory
//   void set_max_registers_dec<N>();  set_max_registers_inc<N>();
//       a whole warpgroup; N a multiple of 8, 24 to 256. inc waits until others gave enough back. For 9.0a
//   void grid_dependency_wait();  launch_dependents();
//       until the grids before this one have ended, and their memory can be seen; that the next one may start once all
//       blocks have said so or ended, which makes nothing visible
//
// Bulk copies, issued by one thread. Places and sizes are multiples of 16 bytes.
//   void copy_bulk_to_shared<T>(T* s_base, int s_offset, const T* g_base, int64 g_offset, int bytes, MBarrier&);
//   void copy_bulk_to_blocks<T>(..., MBarrier&, uint32 blocks);
//       counts its bytes on the barrier; blocks: at the same place in each block of the cluster whose bit is set
//   void copy_bulk_to_block<T>(T* s_to, int to_offset, const T* s_from, int from_offset, int bytes, MBarrier&,
//                              int block);
//       from this block's shared memory to that of another of the cluster, counted on the barrier there, which alone
//       tells when the source may be used again; what generic stores wrote must be fenced before
//   void copy_bulk_to_global<T>(T* g_base, int64 g_offset, const T* s_base, int s_offset, int bytes);
//   void reduce_add_bulk(float* g_base, int64 g_offset, const float* s_base, int s_offset, int bytes);
//       in this thread's group; what generic stores wrote must be fenced before
//   void bulk_commit();  bulk_wait<Pending>();  bulk_wait_read<Pending>();
//       closes the group; until at most Pending groups are not done, or have not read their shared memory. Other
//       threads see the result only after bulk_wait
//
// Matrices. All 32 lanes call together; fragments as in kernels/layout/fragment.hpp.
//   void ldmatrix_x4<T>(uint32 (&r)[4], const T* s_base, int s_offset);  ldmatrix_x4_trans<T>(...)
//       s_offset: this lane's row, 16-byte aligned; trans: each 8x8 matrix transposed
//   void mma_m16n8k16<T>(float (&d)[4], const uint32 (&a)[4], uint32 b0, uint32 b1);
//       d += a b, fp32 accumulation
//   void ldmatrix_x4<T, M>(uint32 (&r)[M][4], const T* s_base, At s_offset);
//       M of them: r[m] from s_offset(m)
//   void mma_m16n8k16<T, M, N>(float (&d)[M][N][4], const uint32 (&a)[M][4], const T* s_base, At s_offset,
//                              Between between);  mma_m16n8k16_trans<T, M, N>(...)
//       M N of them. For each second n, b is what ldmatrix_x4(_trans) gives from s_offset(n), and for each m
//       d[m][n] += a[m] by b[0], b[1] and d[m][n + 1] += a[m] by b[2], b[3]; then between(n), the place of instructions
//       that need none of d and may run while the products do
//   void stmatrix_x4<T>(T* s_base, int s_offset, const uint32 (&r)[4]);  stmatrix_x4_trans<T>(...)
//       the inverse of ldmatrix_x4. From 9.0 on
//
// Matrices of a warpgroup: the four warps from a multiple of four on, all lanes of each. For 9.0a. Descriptors come
// from kernels/layout/panel_tile.hpp, fragments are those of kernels/layout/fragment.hpp. Products run beside the
// threads: from issue to the wait that orders them, what they read may not change, accumulators and registers of A may
// not be touched, and both must stay in scope.
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
//       what lies inside the tensor, no coordinate of `at` below 0 (an illegal instruction on an H200); add: to what is
//       there, in the map's type. Reads what generic stores wrote before a fence.proxy.async. Belongs to this thread's
//       group of bulk copies
//   void prefetch_tensor_map(const TensorMap&);
#include <flashfit_arch.hpp>

#include "core/base/types.hpp"
