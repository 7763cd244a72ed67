#pragma once
// What the lanes of a warp tell one another. PTX ISA, "shfl.sync", "vote.sync", "redux.sync".
#include "core/base/types.hpp"
#include "kernels/arch/cuda/words.hpp"

namespace flashfit::arch {

inline float shuffle_xor(float x, int mask) { return __shfl_xor_sync(~0u, x, mask); }
inline int shuffle_xor(int x, int mask) { return __shfl_xor_sync(~0u, x, mask); }
inline uint32 shuffle_xor(uint32 x, int mask) { return __shfl_xor_sync(~0u, x, mask); }
inline float shuffle(float x, int from) { return __shfl_sync(~0u, x, from); }
inline int shuffle(int x, int from) { return __shfl_sync(~0u, x, from); }
inline uint32 shuffle(uint32 x, int from) { return __shfl_sync(~0u, x, from); }
inline uint32 ballot(bool x) { return __ballot_sync(~0u, x); }

/// What a number of each lane is reduced by: the instruction's word for it, and the same in C++.
template <class = void>
struct Sum {
  static constexpr char kText[] = "add";
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};
template <class = void>
struct Least {
  static constexpr char kText[] = "min";
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
template <class = void>
struct Most {
  static constexpr char kText[] = "max";
  template <class T>
  T operator()(T a, T b) const {
    return b > a ? b : a;
  }
};

/// By five exchanges where there is no instruction.
template <class Op, AtomicInteger T>
  requires(sizeof(T) == 4)
T warp_reduce(T x) {
  if constexpr (kTarget >= 80) {
    T y;
    asm volatile("redux.sync.%1.%2 %0, %3, 0xffffffff;" : "=r"(y) : "C"(Op::kText), "C"(TypeWord<T>::kText), "r"(x));
    return y;
  } else {
    for (int mask = 16; mask != 0; mask /= 2) x = Op()(x, shuffle_xor(x, mask));
    return x;
  }
}
template <AtomicInteger T>
T warp_sum(T x) {
  return warp_reduce<Sum<>>(x);
}
template <AtomicInteger T>
T warp_min(T x) {
  return warp_reduce<Least<>>(x);
}
template <AtomicInteger T>
T warp_max(T x) {
  return warp_reduce<Most<>>(x);
}

}  // namespace flashfit::arch
