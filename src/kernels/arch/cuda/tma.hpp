#pragma once
// Tensor copies of the arch contract: PTX ISA, "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor". An asm statement
// has a fixed number of operands, hence one for each number of dimensions. For 9.0.
#include "core/base/mbarrier.hpp"
#include "core/base/types.hpp"
#include "kernels/arch/cache_policy.hpp"
#include "kernels/layout/tensor_map.hpp"

namespace flashfit::arch {

inline void prefetch_tensor_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

template <class T, int Dims>
void tma_load(T* s_base, int s_offset, const TensorMap& map, const int (&at)[Dims], MBarrier& s_barrier) {
  static_assert(Dims >= 2 && Dims <= 5, "a tensor copy has 2 to 5 coordinates; bulk copies have one");
  const uint32 to = shared_address(s_base, s_offset), barrier = shared_address(&s_barrier);
  if constexpr (Dims == 2)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], "
        "[%2];" ::"r"(to),
        "l"(&map), "r"(barrier), "r"(at[0]), "r"(at[1])
        : "memory");
  else if constexpr (Dims == 3)
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
        "[%2];" ::"r"(to),
        "l"(&map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2])
        : "memory");
  else if constexpr (Dims == 4)
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
        "%6}], [%2];" ::"r"(to),
        "l"(&map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
        : "memory");
  else
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, "
        "%7}], [%2];" ::"r"(to),
        "l"(&map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
        : "memory");
}

/// The same, and what L2 is to do with what it reads.
template <class T, int Dims>
void tma_load(T* s_base, int s_offset, const TensorMap& map, const int (&at)[Dims], MBarrier& s_barrier,
              CachePolicy policy) {
  static_assert(Dims >= 2 && Dims <= 5, "a tensor copy has 2 to 5 coordinates; bulk copies have one");
  const uint32 to = shared_address(s_base, s_offset), barrier = shared_address(&s_barrier);
  if constexpr (Dims == 2)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, "
        "{%3, %4}], [%2], %5;" ::"r"(to),
        "l"(&map), "r"(barrier), "r"(at[0]), "r"(at[1]), "l"(policy.bits)
        : "memory");
  else if constexpr (Dims == 3)
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, "
        "{%3, %4, %5}], [%2], %6;" ::"r"(to),
        "l"(&map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "l"(policy.bits)
        : "memory");
  else if constexpr (Dims == 4)
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, "
        "{%3, %4, %5, %6}], [%2], %7;" ::"r"(to),
        "l"(&map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "l"(policy.bits)
        : "memory");
  else
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, "
        "{%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(to),
        "l"(&map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]), "l"(policy.bits)
        : "memory");
}

template <class T, int Dims>
void tma_load_multicast(T* s_base, int s_offset, const TensorMap& map, const int (&at)[Dims], MBarrier& s_barrier,
                        uint32 blocks) {
  static_assert(Dims >= 2 && Dims <= 5, "a tensor copy has 2 to 5 coordinates; bulk copies have one");
  const uint32 to = shared_address(s_base, s_offset), barrier = shared_address(&s_barrier);
  const unsigned short mask = static_cast<unsigned short>(blocks);
  if constexpr (Dims == 2)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
        "[%1, "
        "{%4, %5}], [%2], %3;" ::"r"(to),
        "l"(&map), "r"(barrier), "h"(mask), "r"(at[0]), "r"(at[1])
        : "memory");
  else if constexpr (Dims == 3)
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
        "[%1, "
        "{%4, %5, %6}], [%2], %3;" ::"r"(to),
        "l"(&map), "r"(barrier), "h"(mask), "r"(at[0]), "r"(at[1]), "r"(at[2])
        : "memory");
  else if constexpr (Dims == 4)
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
        "[%1, "
        "{%4, %5, %6, %7}], [%2], %3;" ::"r"(to),
        "l"(&map), "r"(barrier), "h"(mask), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
        : "memory");
  else
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
        "[%1, "
        "{%4, %5, %6, %7, %8}], [%2], %3;" ::"r"(to),
        "l"(&map), "r"(barrier), "h"(mask), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
        : "memory");
}

/// Words of the instruction. Members of partial specialisations stay out of images that do not use them.
template <bool Add, class = void>
struct TmaFromShared {
  static constexpr char kName[] = "cp.async.bulk.tensor";
  static constexpr char kSuffix[] = ".tile.bulk_group";
};
template <class Unused>
struct TmaFromShared<true, Unused> {
  static constexpr char kName[] = "cp.reduce.async.bulk.tensor";
  static constexpr char kSuffix[] = ".add.tile.bulk_group";
};

template <bool Add, int Dims>
void tma_from_shared(const TensorMap& map, const int (&at)[Dims], const void* s) {
  static_assert(Dims >= 2 && Dims <= 5, "a tensor copy has 2 to 5 coordinates; bulk copies have one");
  const uint32 from = shared_address(s);
  if constexpr (Dims == 2)
    asm volatile("%0.2d.global.shared::cta%1 [%2, {%4, %5}], [%3];" ::"C"(TmaFromShared<Add>::kName),
                 "C"(TmaFromShared<Add>::kSuffix), "l"(&map), "r"(from), "r"(at[0]), "r"(at[1])
                 : "memory");
  else if constexpr (Dims == 3)
    asm volatile("%0.3d.global.shared::cta%1 [%2, {%4, %5, %6}], [%3];" ::"C"(TmaFromShared<Add>::kName),
                 "C"(TmaFromShared<Add>::kSuffix), "l"(&map), "r"(from), "r"(at[0]), "r"(at[1]), "r"(at[2])
                 : "memory");
  else if constexpr (Dims == 4)
    asm volatile("%0.4d.global.shared::cta%1 [%2, {%4, %5, %6, %7}], [%3];" ::"C"(TmaFromShared<Add>::kName),
                 "C"(TmaFromShared<Add>::kSuffix), "l"(&map), "r"(from), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
                 : "memory");
  else
    asm volatile("%0.5d.global.shared::cta%1 [%2, {%4, %5, %6, %7, %8}], [%3];" ::"C"(TmaFromShared<Add>::kName),
                 "C"(TmaFromShared<Add>::kSuffix), "l"(&map), "r"(from), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]),
                 "r"(at[4])
                 : "memory");
}

template <class T, int Dims>
void tma_store(const TensorMap& map, const int (&at)[Dims], const T* s_base, int s_offset) {
  tma_from_shared<false>(map, at, s_base + s_offset);
}
template <class T, int Dims>
void tma_reduce_add(const TensorMap& map, const int (&at)[Dims], const T* s_base, int s_offset) {
  tma_from_shared<true>(map, at, s_base + s_offset);
}

}  // namespace flashfit::arch
