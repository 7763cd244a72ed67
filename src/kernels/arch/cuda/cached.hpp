#pragma once
// Loads and copies that say what caches are to do with what they move. PTX ISA, "ld.global.nc", "createpolicy",
// "Cache Eviction Priority Hints".
#include "core/base/mbarrier.hpp"
#include "core/base/types.hpp"
#include "kernels/arch/cache_policy.hpp"

namespace flashfit::arch {

/// Neither volatile nor with a memory clobber: what it reads never changes, so it may be moved anywhere.
template <class T>
Bytes16 load_read_only(const T* g_base, int64 offset) {
  Bytes16 v;
  asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(v.words[0]), "=r"(v.words[1]), "=r"(v.words[2]), "=r"(v.words[3])
      : "l"(g_base + offset));
  return v;
}
template <class T, int Target = kTarget>
  requires(Target >= 80)
Bytes16 load_read_only(const T* g_base, int64 offset, CachePolicy policy) {
  Bytes16 v;
  asm("ld.global.nc.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
      : "=r"(v.words[0]), "=r"(v.words[1]), "=r"(v.words[2]), "=r"(v.words[3])
      : "l"(g_base + offset), "l"(policy.bits));
  return v;
}

template <Eviction E, int Target = kTarget>
  requires(Target >= 80)
CachePolicy cache_policy(float fraction = 1) {
  CachePolicy policy;
  if constexpr (E == Eviction::kFirst)
    asm("createpolicy.fractional.L2::evict_first.b64 %0, %1;" : "=l"(policy.bits) : "f"(fraction));
  else
    asm("createpolicy.fractional.L2::evict_last.b64 %0, %1;" : "=l"(policy.bits) : "f"(fraction));
  return policy;
}

template <class T, int Target = kTarget>
  requires(Target >= 80)
void cp_async_16(T* s_base, int s_offset, const T* g_base, int64 g_offset, bool inside, CachePolicy policy) {
  asm volatile(
      "cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(shared_address(s_base, s_offset)),
      "l"(g_base + g_offset), "r"(inside ? 16 : 0), "l"(policy.bits)
      : "memory");
}
template <class T, int Target = kTarget>
  requires(Target >= 90)
void copy_bulk_to_shared(T* s_base, int s_offset, const T* g_base, int64 g_offset, int bytes, MBarrier& s_barrier,
                         CachePolicy policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], "
      "%4;" ::"r"(shared_address(s_base, s_offset)),
      "l"(g_base + g_offset), "r"(bytes), "r"(shared_address(&s_barrier)), "l"(policy.bits)
      : "memory");
}

}  // namespace flashfit::arch
