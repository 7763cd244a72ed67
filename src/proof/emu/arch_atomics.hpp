#pragma once
// Atomics of the contract of kernels/arch/arch.hpp. Part of proof/emu/flashfit_arch.hpp.
#include <cstring>
#include <type_traits>

#include "core/base/types.hpp"
#include "kernels/arch/memory_order.hpp"
#include "proof/emu/machine.hpp"

namespace flashfit::arch {

template <class T>
concept AtomicInteger = std::is_same_v<T, int> || std::is_same_v<T, uint32> || std::is_same_v<T, uint64>;
template <class T>
concept AtomicNumber = AtomicInteger<T> || std::is_same_v<T, float>;

template <AtomicNumber T>
T atomic(emu::AtomicOp::Kind kind, MemoryOrder order, const T* g_base, int64 offset, const char* what, Site site,
         T value = {}, T expected = {}) {
  using Type = emu::AtomicOp::Type;
  emu::AtomicOp op{.kind = kind,
                   .type = std::is_same_v<T, int>     ? Type::kInt
                           : std::is_same_v<T, float> ? Type::kFloat
                           : sizeof(T) == 8           ? Type::kLong
                                                      : Type::kUnsigned,
                   .order = order};
  std::memcpy(&op.value, &value, sizeof value);
  std::memcpy(&op.expected, &expected, sizeof expected);
  const std::uint64_t before = emu::Machine::current().atomic(op, address(g_base, offset), what, site);
  std::memcpy(&value, &before, sizeof value);
  return value;
}

template <MemoryOrder O, AtomicNumber T>
T atomic_add(T* g_base, int64 offset, T value, Site site = {}) {
  return atomic(emu::AtomicOp::Kind::kAdd, O, g_base, offset, "atomic_add", site, value);
}
template <MemoryOrder O, AtomicInteger T>
T atomic_max(T* g_base, int64 offset, T value, Site site = {}) {
  return atomic(emu::AtomicOp::Kind::kMax, O, g_base, offset, "atomic_max", site, value);
}
template <MemoryOrder O, AtomicInteger T>
T atomic_exchange(T* g_base, int64 offset, T value, Site site = {}) {
  return atomic(emu::AtomicOp::Kind::kExchange, O, g_base, offset, "atomic_exchange", site, value);
}
template <MemoryOrder O, AtomicInteger T>
T atomic_compare_exchange(T* g_base, int64 offset, T expected, T value, Site site = {}) {
  return atomic(emu::AtomicOp::Kind::kCompareExchange, O, g_base, offset, "atomic_compare_exchange", site, value,
                expected);
}
template <MemoryOrder O, AtomicNumber T>
  requires(!acquires(O))
void reduce_add(T* g_base, int64 offset, T value, Site site = {}) {
  atomic(emu::AtomicOp::Kind::kAdd, O, g_base, offset, "reduce_add", site, value);
}
template <AtomicInteger T>
T load_acquire(const T* g_base, int64 offset, Site site = {}) {
  return atomic(emu::AtomicOp::Kind::kLoad, MemoryOrder::kAcquire, g_base, offset, "load_acquire", site);
}
template <AtomicInteger T>
void store_release(T* g_base, int64 offset, T value, Site site = {}) {
  atomic(emu::AtomicOp::Kind::kStore, MemoryOrder::kRelease, g_base, offset, "store_release", site, value);
}

}  // namespace flashfit::arch
