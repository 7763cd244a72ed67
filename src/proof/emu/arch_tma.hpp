#pragma once
// Tensor copies of the contract of kernels/arch/arch.hpp. Part of proof/emu/flashfit_arch.hpp.
#include <algorithm>
#include <cstring>

#include "core/base/mbarrier.hpp"
#include "kernels/arch/cache_policy.hpp"
#include "proof/emu/cache_hints.hpp"
#include "proof/emu/tensor_copies.hpp"

namespace flashfit::arch {

template <class T, int Dims>
void tma_load_multicast(T* s_base, int s_offset, const TensorMap& map, const int (&at)[Dims], MBarrier& s_barrier,
                        uint32 blocks, Site site = {}) {
  emu::load_box({"tma_load", &map, {at, Dims}, address(s_base, s_offset), sizeof(T), site},
                reinterpret_cast<std::uintptr_t>(&s_barrier), blocks);
}
template <class T, int Dims>
void tma_load(T* s_base, int s_offset, const TensorMap& map, const int (&at)[Dims], MBarrier& s_barrier,
              Site site = {}) {
  tma_load_multicast(s_base, s_offset, map, at, s_barrier, 0, site);
}

template <class T, int Dims>
void tma_load(T* s_base, int s_offset, const TensorMap& map, const int (&at)[Dims], MBarrier& s_barrier,
              CachePolicy policy, Site site = {}) {
  emu::check_cache_policy(policy, "tma_load", site);
  tma_load(s_base, s_offset, map, at, s_barrier, site);
}

template <class T, int Dims>
void tma_store(const TensorMap& map, const int (&at)[Dims], const T* s_base, int s_offset, Site site = {}) {
  emu::store_box({"tma_store", &map, {at, Dims}, address(s_base, s_offset), sizeof(T), site}, false);
}
template <class T, int Dims>
void tma_reduce_add(const TensorMap& map, const int (&at)[Dims], const T* s_base, int s_offset, Site site = {}) {
  emu::store_box({"tma_reduce_add", &map, {at, Dims}, address(s_base, s_offset), sizeof(T), site}, true);
}

inline void prefetch_tensor_map(const TensorMap& map, Site site = {}) { emu::prefetch_map(map, site); }

}  // namespace flashfit::arch
