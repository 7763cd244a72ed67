#pragma once
// Words of instructions that follow from a type or a constant, for asm's constraint "C". Members of templates and of
// their partial specialisations stay out of images that do not use them.
#include "core/base/types.hpp"
#include "kernels/arch/memory_order.hpp"

namespace flashfit::arch {

template <MemoryOrder O, class = void>
struct OrderWord {
  static constexpr char kText[] = "relaxed";
};
template <class Unused>
struct OrderWord<MemoryOrder::kAcquire, Unused> {
  static constexpr char kText[] = "acquire";
};
template <class Unused>
struct OrderWord<MemoryOrder::kRelease, Unused> {
  static constexpr char kText[] = "release";
};
template <class Unused>
struct OrderWord<MemoryOrder::kAcqRel, Unused> {
  static constexpr char kText[] = "acq_rel";
};

/// The type of an operand.
template <class T, class = void>
struct TypeWord;
template <class Unused>
struct TypeWord<int, Unused> {
  static constexpr char kText[] = "s32";
};
template <class Unused>
struct TypeWord<uint32, Unused> {
  static constexpr char kText[] = "u32";
};
template <class Unused>
struct TypeWord<uint64, Unused> {
  static constexpr char kText[] = "u64";
};
template <class Unused>
struct TypeWord<float, Unused> {
  static constexpr char kText[] = "f32";
};
template <class T>
concept AtomicNumber = requires { TypeWord<T>::kText; };
template <class T>
concept AtomicInteger = AtomicNumber<T> && T(1) / 2 == T(0);

/// What the registers of an instruction hold, and its type where it only moves bits.
template <int Bytes, class = void>
struct Bits {
  using Type = uint32;
  static constexpr char kText[] = "b32";
};
template <class Unused>
struct Bits<8, Unused> {
  using Type = uint64;
  static constexpr char kText[] = "b64";
};

}  // namespace flashfit::arch
