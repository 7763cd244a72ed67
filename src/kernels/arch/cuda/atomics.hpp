#pragma once
// Atomic accesses of global memory at the scope of the GPU. PTX ISA, "atom", "red", "ld", "st".
#include "kernels/arch/cuda/words.hpp"

namespace flashfit::arch {

template <class = void>
struct AddWord {
  static constexpr char kText[] = "add";
};
template <class = void>
struct MaxWord {
  static constexpr char kText[] = "max";
};
template <class = void>
struct ExchangeWord {
  static constexpr char kText[] = "exch";
};

template <class Word, class Type, MemoryOrder O, AtomicNumber T>
T atomic(T* g_base, int64 offset, T value) {
  typename Bits<sizeof(T)>::Type before;
  const auto bits = __builtin_bit_cast(decltype(before), value);
  if constexpr (sizeof(T) == 8)
    asm volatile("atom.%1.gpu.global.%2.%3 %0, [%4], %5;"
                 : "=l"(before)
                 : "C"(OrderWord<O>::kText), "C"(Word::kText), "C"(Type::kText), "l"(g_base + offset), "l"(bits)
                 : "memory");
  else
    asm volatile("atom.%1.gpu.global.%2.%3 %0, [%4], %5;"
                 : "=r"(before)
                 : "C"(OrderWord<O>::kText), "C"(Word::kText), "C"(Type::kText), "l"(g_base + offset), "r"(bits)
                 : "memory");
  return __builtin_bit_cast(T, before);
}
template <MemoryOrder O, AtomicNumber T>
T atomic_add(T* g_base, int64 offset, T value) {
  return atomic<AddWord<>, TypeWord<T>, O>(g_base, offset, value);
}
template <MemoryOrder O, AtomicInteger T>
T atomic_max(T* g_base, int64 offset, T value) {
  return atomic<MaxWord<>, TypeWord<T>, O>(g_base, offset, value);
}
template <MemoryOrder O, AtomicInteger T>
T atomic_exchange(T* g_base, int64 offset, T value) {
  return atomic<ExchangeWord<>, Bits<sizeof(T)>, O>(g_base, offset, value);
}

template <MemoryOrder O, AtomicInteger T>
T atomic_compare_exchange(T* g_base, int64 offset, T expected, T value) {
  T before;
  if constexpr (sizeof(T) == 8)
    asm volatile("atom.%1.gpu.global.cas.b64 %0, [%2], %3, %4;"
                 : "=l"(before)
                 : "C"(OrderWord<O>::kText), "l"(g_base + offset), "l"(expected), "l"(value)
                 : "memory");
  else
    asm volatile("atom.%1.gpu.global.cas.b32 %0, [%2], %3, %4;"
                 : "=r"(before)
                 : "C"(OrderWord<O>::kText), "l"(g_base + offset), "r"(expected), "r"(value)
                 : "memory");
  return before;
}

/// A reduction gives nothing back, so it has nothing to acquire.
template <MemoryOrder O, AtomicNumber T>
  requires(!acquires(O))
void reduce_add(T* g_base, int64 offset, T value) {
  if constexpr (sizeof(T) == 8)
    asm volatile("red.%0.gpu.global.add.u64 [%1], %2;" ::"C"(OrderWord<O>::kText), "l"(g_base + offset), "l"(value)
                 : "memory");
  else
    asm volatile("red.%0.gpu.global.add.%1 [%2], %3;" ::"C"(OrderWord<O>::kText), "C"(TypeWord<T>::kText),
                 "l"(g_base + offset), "r"(__builtin_bit_cast(uint32, value))
                 : "memory");
}

template <AtomicInteger T>
T load_acquire(const T* g_base, int64 offset) {
  T value;
  if constexpr (sizeof(T) == 8)
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(g_base + offset) : "memory");
  else
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(g_base + offset) : "memory");
  return value;
}
template <AtomicInteger T>
void store_release(T* g_base, int64 offset, T value) {
  if constexpr (sizeof(T) == 8)
    asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(g_base + offset), "l"(value) : "memory");
  else
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(g_base + offset), "r"(value) : "memory");
}

}  // namespace flashfit::arch
