#pragma once
// Conversions between fp32 and the 16-bit storage types, for hosts:
// round to nearest even, NaN stays NaN, subnormals kept.
#include <bit>
#include <cstdint>

#include "core/base/types.hpp"

namespace flashfit {

constexpr float to_float(bf16 x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }

constexpr float to_float(f16 x) {
  const std::uint32_t sign = (x.bits & 0x8000u) << 16, rest = x.bits & 0x7fffu;
  if (rest >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13);  // inf, NaN
  // 2^-112 moves the exponent's bias from 15 to 127 and normalises subnormals exactly.
  const float magnitude = std::bit_cast<float>(rest << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

constexpr float to_float(float x) { return x; }

template <class T>
constexpr T from_float(float x);

template <>
constexpr float from_float<float>(float x) {
  return x;
}

template <>
constexpr bf16 from_float<bf16>(float x) {
  const std::uint32_t u = std::bit_cast<std::uint32_t>(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return {static_cast<unsigned short>(u >> 16 | 0x40)};
  return {static_cast<unsigned short>((u + 0x7fffu + (u >> 16 & 1)) >> 16)};
}

template <>
constexpr f16 from_float<f16>(float x) {
  const std::uint32_t u = std::bit_cast<std::uint32_t>(x), sign = u >> 16 & 0x8000u, magnitude = u & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {static_cast<unsigned short>(sign | 0x7e00u | (magnitude >> 13 & 0x1ffu))};
  if (magnitude >= 0x477ff000u) return {static_cast<unsigned short>(sign | 0x7c00u)};  // 65520 and more round to inf
  if (magnitude <
      0x38800000u) {  // below 2^-14: adding 0.5 leaves the subnormal's bits in the mantissa, rounded by the FPU
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<unsigned short>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u))};
  }
  const std::uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1);
  return {static_cast<unsigned short>(sign | ((rounded >> 13) - (112u << 10)))};
}

}  // namespace flashfit
