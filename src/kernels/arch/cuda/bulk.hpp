#pragma once
// Shared memory through the contract, of this block and of others in the cluster, and bulk copies of it. PTX ISA,
// "cp.async.bulk", "cp.reduce.async.bulk".
#include "core/base/mbarrier.hpp"
#include "core/base/types.hpp"

namespace flashfit::arch {

template <class V, class T>
V load_shared(const T* s_base, int s_offset) {
  return *reinterpret_cast<const V*>(s_base + s_offset);
}
template <class T>
T load_shared(const T* s_base, int s_offset) {
  return load_shared<T, T>(s_base, s_offset);
}
template <class T, class V>
void store_shared(T* s_base, int s_offset, V value) {
  *reinterpret_cast<V*>(s_base + s_offset) = value;
}

/// The generic address of the same place in another block of the cluster.
template <class T, int Target = kTarget>
  requires(Target >= 90)
T* remote(T* s_place, int block) {
  T* there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(s_place), "r"(block));
  return there;
}
template <class T>
T load_remote(const T* s_base, int s_offset, int block) {
  return *remote(s_base + s_offset, block);
}
template <class T, class V>
void store_remote(T* s_base, int s_offset, V value, int block) {
  *reinterpret_cast<V*>(remote(s_base + s_offset, block)) = value;
}

/// Global to this block's shared memory; completes `bytes` on the barrier.
template <class T, int Target = kTarget>
  requires(Target >= 90)
void copy_bulk_to_shared(T* s_base, int s_offset, const T* g_base, int64 g_offset, int bytes, MBarrier& s_barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(s_base, s_offset)),
               "l"(g_base + g_offset), "r"(bytes), "r"(shared_address(&s_barrier))
               : "memory");
}
/// The same to every block of the cluster whose bit is set, and on its barrier.
template <class T, int Target = kTarget>
  requires(Target >= 90)
void copy_bulk_to_blocks(T* s_base, int s_offset, const T* g_base, int64 g_offset, int bytes, MBarrier& s_barrier,
                         uint32 blocks) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
      "%4;" ::"r"(shared_address(s_base, s_offset)),
      "l"(g_base + g_offset), "r"(bytes), "r"(shared_address(&s_barrier)), "h"(static_cast<unsigned short>(blocks))
      : "memory");
}
/// This block's shared memory to that of block `block` of the cluster; completes `bytes` on the barrier there.
template <class T, int Target = kTarget>
  requires(Target >= 90)
void copy_bulk_to_block(T* s_to, int to_offset, const T* s_from, int from_offset, int bytes, MBarrier& s_barrier,
                        int block) {
  asm volatile(
      "{ .reg .b32 to, barrier; mapa.shared::cluster.u32 to, %0, %4; mapa.shared::cluster.u32 barrier, %3, %4; "
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [to], [%1], %2, [barrier]; }" ::"r"(
          shared_address(s_to, to_offset)),
      "r"(shared_address(s_from, from_offset)), "r"(bytes), "r"(shared_address(&s_barrier)), "r"(block)
      : "memory");
}
/// Shared to global memory, in this thread's group of bulk copies.
template <class T, int Target = kTarget>
  requires(Target >= 90)
void copy_bulk_to_global(T* g_base, int64 g_offset, const T* s_base, int s_offset, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(g_base + g_offset),
               "r"(shared_address(s_base, s_offset)), "r"(bytes)
               : "memory");
}
/// The same, added to what is there; each addition is one, in any order.
template <int Target = kTarget>
  requires(Target >= 90)
void reduce_add_bulk(float* g_base, int64 g_offset, const float* s_base, int s_offset, int bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(g_base + g_offset),
               "r"(shared_address(s_base, s_offset)), "r"(bytes)
               : "memory");
}
/// Closes this thread's group of bulk copies out of shared memory.
template <int Target = kTarget>
  requires(Target >= 90)
void bulk_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// Until at most `Pending` of this thread's groups are not complete.
template <int Pending, int Target = kTarget>
  requires(Target >= 90)
void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(Pending) : "memory");
}
/// Until at most `Pending` of them have yet to read their shared memory.
template <int Pending, int Target = kTarget>
  requires(Target >= 90)
void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}

}  // namespace flashfit::arch
