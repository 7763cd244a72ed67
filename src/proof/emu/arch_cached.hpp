#pragma once
// Loads and copies of the contract of kernels/arch/arch.hpp that say what caches are to do: there are none here, so
// that hints are looked at and do nothing. Part of proof/emu/flashfit_arch.hpp.
#include <cstring>

#include "core/base/mbarrier.hpp"
#include "kernels/arch/cache_policy.hpp"
#include "proof/emu/cache_hints.hpp"
#include "proof/emu/machine.hpp"

namespace flashfit::arch {

template <Eviction E>
CachePolicy cache_policy(float fraction = 1, Site site = {}) {
  return emu::make_cache_policy(E, fraction, site);
}

template <class T>
Bytes16 load_read_only(const T* g_base, int64 offset, Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  machine.count(&emu::Stats::loads);
  machine.read_only_access(address(g_base, offset), sizeof(Bytes16), "load_read_only", site);
  Bytes16 value;
  std::memcpy(&value, reinterpret_cast<const void*>(address(g_base, offset)), sizeof value);
  return value;
}
template <class T>
Bytes16 load_read_only(const T* g_base, int64 offset, CachePolicy policy, Site site = {}) {
  emu::check_cache_policy(policy, "load_read_only", site);
  return load_read_only(g_base, offset, site);
}
template <class T>
void cp_async_16(T* s_base, int s_offset, const T* g_base, int64 g_offset, bool inside, CachePolicy policy,
                 Site site = {}) {
  emu::check_cache_policy(policy, "cp_async_16", site);
  cp_async_16(s_base, s_offset, g_base, g_offset, inside, site);
}
template <class T>
void copy_bulk_to_shared(T* s_base, int s_offset, const T* g_base, int64 g_offset, int bytes, MBarrier& s_barrier,
                         CachePolicy policy, Site site = {}) {
  emu::check_cache_policy(policy, "copy_bulk_to_shared", site);
  copy_bulk_to_shared(s_base, s_offset, g_base, g_offset, bytes, s_barrier, site);
}

}  // namespace flashfit::arch
