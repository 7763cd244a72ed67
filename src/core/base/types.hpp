#pragma once
// Element types. Neutral: kernels (NVRTC), the emulator and host code all include this, so it may include nothing.

namespace flashfit {

using uint32 = unsigned int;
using uint64 = unsigned long long;
using int64 = long long;

/// IEEE binary16 as storage only: arithmetic happens in fp32
/// (kernels convert through `arch`, hosts through core/base/half.hpp).
struct f16 {
  unsigned short bits;
};

/// bfloat16 (the upper half of a binary32) as storage only.
struct bf16 {
  unsigned short bits;
};

/// What one instruction moves at most: 8 of the 16-bit types.
struct alignas(16) Bytes16 {
  uint32 words[4];
};

enum class DType : unsigned char { kF16, kBF16, kF32 };

template <DType T>
struct ElementOf;
template <>
struct ElementOf<DType::kF16> {
  using type = f16;
};
template <>
struct ElementOf<DType::kBF16> {
  using type = bf16;
};
template <>
struct ElementOf<DType::kF32> {
  using type = float;
};
/// The storage type of a DType: f16, bf16 or float.
template <DType T>
using Element = typename ElementOf<T>::type;

/// Bytes of one element.
constexpr int size_of(DType t) { return t == DType::kF32 ? 4 : 2; }

/// "fp16", "bf16", "fp32": the names that the command line, JSON and messages use.
constexpr const char* name_of(DType t) { return t == DType::kF16 ? "fp16" : t == DType::kBF16 ? "bf16" : "fp32"; }

}  // namespace flashfit
