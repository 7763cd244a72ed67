// Rows of storage types to fp32 and back. Compiled once for each Highway target, hence the toggled guard.
#if defined(FLASHFIT_CPU_CONVERT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHFIT_CPU_CONVERT_INL
#undef FLASHFIT_CPU_CONVERT_INL
#else
#define FLASHFIT_CPU_CONVERT_INL
#endif

#include <hwy/highway.h>

#include <cstring>

#include "core/base/half.hpp"

HWY_BEFORE_NAMESPACE();
namespace flashfit::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Elsewhere Highway emulates fp16, truncating; core/base/half.hpp rounds.
inline constexpr bool kNativeHalf = (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2) || HWY_TARGET == HWY_NEON;

HWY_INLINE void load_row(const float* HWY_RESTRICT from, float* HWY_RESTRICT to, std::size_t count) {
  std::memcpy(to, from, count * sizeof(float));
}

HWY_INLINE void load_row(const bf16* HWY_RESTRICT from, float* HWY_RESTRICT to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = to_float(from[i]);
}

HWY_INLINE void load_row(const f16* HWY_RESTRICT from, float* HWY_RESTRICT to, std::size_t count) {
  std::size_t i = 0;
  if constexpr (kNativeHalf) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<std::uint16_t, decltype(d)> d16;
    const hn::Rebind<hwy::float16_t, decltype(d)> dh;
    for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
      hn::StoreU(hn::PromoteTo(d, hn::BitCast(dh, hn::LoadU(d16, &from[i].bits))), d, to + i);
    }
  }
  for (; i < count; ++i) to[i] = to_float(from[i]);
}

HWY_INLINE void store_row(const float* HWY_RESTRICT from, float* HWY_RESTRICT to, std::size_t count) {
  std::memcpy(to, from, count * sizeof(float));
}

HWY_INLINE void store_row(const float* HWY_RESTRICT from, bf16* HWY_RESTRICT to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = from_float<bf16>(from[i]);
}

HWY_INLINE void store_row(const float* HWY_RESTRICT from, f16* HWY_RESTRICT to, std::size_t count) {
  std::size_t i = 0;
  if constexpr (kNativeHalf) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<std::uint16_t, decltype(d)> d16;
    const hn::Rebind<hwy::float16_t, decltype(d)> dh;
    for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
      hn::StoreU(hn::BitCast(d16, hn::DemoteTo(dh, hn::LoadU(d, from + i))), d16, &to[i].bits);
    }
  }
  for (; i < count; ++i) to[i] = from_float<f16>(from[i]);
}

}  // namespace flashfit::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
