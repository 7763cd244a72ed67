#pragma once
// Synchronisation of the arch contract from 9.0 on: mbarriers, clusters, fences, registers, dependent grids. PTX ISA,
// "Parallel Synchronization and Communication Instructions". `Target` makes misuse one line at the caller.
#include "core/base/mbarrier.hpp"
#include "core/base/types.hpp"

namespace flashfit::arch {

/// Lanes of `mask` wait for one another; orders memory among them.
inline void sync_warp(uint32 mask = ~0u) { __syncwarp(mask); }
/// True in one lane of a converged warp.
template <int Target = kTarget>
  requires(Target >= 90)
bool elect_one() {
  uint32 chosen;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(chosen));
  return chosen != 0;
}

/// Barrier `id` of the block: arrives and waits until `threads` have arrived; orders memory.
inline void named_barrier_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
/// Arrives alone; what came before is ordered before what comes after the others' named_barrier_sync.
inline void named_barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// Generic accesses to shared memory before it are ordered before asynchronous ones that come later on any chain of
/// synchronisation.
template <int Target = kTarget>
  requires(Target >= 90)
void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/// The same for global memory.
template <int Target = kTarget>
  requires(Target >= 90)
void fence_proxy_async_global() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}
/// This thread's mbarrier_init is visible to the cluster and to asynchronous copies.
template <int Target = kTarget>
  requires(Target >= 90)
void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

template <int Target = kTarget>
  requires(Target >= 90)
void mbarrier_init(MBarrier& s_barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&s_barrier)), "r"(arrivals) : "memory");
}
template <int Target = kTarget>
  requires(Target >= 90)
void mbarrier_inval(MBarrier& s_barrier) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(&s_barrier)) : "memory");
}
/// `count` arrivals; release.
template <int Target = kTarget>
  requires(Target >= 90)
void mbarrier_arrive(MBarrier& s_barrier, int count = 1) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&s_barrier)), "r"(count)
               : "memory");
}
/// The same on the barrier at this place in block `block` of the cluster; release at cluster scope.
template <int Target = kTarget>
  requires(Target >= 90)
void mbarrier_arrive_remote(MBarrier& s_barrier, int block, int count = 1) {
  asm volatile(
      "{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1; "
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote], %2; }" ::"r"(shared_address(&s_barrier)),
      "r"(block), "r"(count)
      : "memory");
}
/// The phase also waits for so many bytes.
template <int Target = kTarget>
  requires(Target >= 90)
void mbarrier_expect_tx(MBarrier& s_barrier, int bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&s_barrier)), "r"(bytes)
               : "memory");
}
/// mbarrier_expect_tx, then one arrival; release.
template <int Target = kTarget>
  requires(Target >= 90)
void mbarrier_arrive_expect_tx(MBarrier& s_barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&s_barrier)),
               "r"(bytes)
               : "memory");
}
/// An arrival once all copies of cp_async_16 that this thread has issued have landed; pending arrivals count one more
/// until then, so that a phase needs no place for it.
template <int Target = kTarget>
  requires(Target >= 90)
void cp_async_mbarrier_arrive(MBarrier& s_barrier) {
  asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(shared_address(&s_barrier)) : "memory");
}
/// The same as one of the arrivals that the barrier was made for.
template <int Target = kTarget>
  requires(Target >= 90)
void cp_async_mbarrier_arrive_noinc(MBarrier& s_barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(&s_barrier)) : "memory");
}
/// Whether the phase of this parity is complete; acquire.
template <int Target = kTarget>
  requires(Target >= 90)
bool mbarrier_test(MBarrier& s_barrier, int parity) {
  uint32 complete;
  asm volatile(
      "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
      : "=r"(complete)
      : "r"(shared_address(&s_barrier)), "r"(parity)
      : "memory");
  return complete != 0;
}
template <int Target = kTarget>
  requires(Target >= 90)
void mbarrier_wait(MBarrier& s_barrier, int parity) {
  while (!mbarrier_test(s_barrier, parity)) continue;
}
/// The same, acquire at cluster scope: a few instructions more.
template <int Target = kTarget>
  requires(Target >= 90)
void mbarrier_wait_cluster(MBarrier& s_barrier, int parity) {
  uint32 complete;
  do
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
        : "=r"(complete)
        : "r"(shared_address(&s_barrier)), "r"(parity)
        : "memory");
  while (complete == 0);
}

template <int Target = kTarget>
  requires(Target >= 90)
int block_in_cluster() {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// All threads of the cluster arrive; release.
template <int Target = kTarget>
  requires(Target >= 90)
void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
/// Until all have arrived; acquire.
template <int Target = kTarget>
  requires(Target >= 90)
void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// Whether the target is compiled for with its own features, as in sm_90a.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
inline constexpr bool kOwnFeatures = true;
#else
inline constexpr bool kOwnFeatures = false;
#endif

/// A whole warpgroup gives registers back: `Registers` a thread are left.
template <int Registers, bool Own = kOwnFeatures>
  requires(Own && Registers >= 24 && Registers <= 256 && Registers % 8 == 0)
void set_max_registers_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}
/// A whole warpgroup takes more, once there are enough.
template <int Registers, bool Own = kOwnFeatures>
  requires(Own && Registers >= 24 && Registers <= 256 && Registers % 8 == 0)
void set_max_registers_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}

/// Until the grids before this one have ended and their memory is visible.
template <int Target = kTarget>
  requires(Target >= 90)
void grid_dependency_wait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
/// The next grid may start when all blocks have said so, or have ended.
template <int Target = kTarget>
  requires(Target >= 90)
void launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

}  // namespace flashfit::arch
