// mma.m16n8k16 for a whole warp. Products of two fp16 or two bf16 numbers are exact in fp32, so a fused and a separate
// multiply-add give the same bits: sums are in the order of k on every machine.
//
// Compiled once for each of these targets; the last two are Highway's fallbacks without SIMD. A row of the result has 8
// columns: wider vectors add nothing.
#define HWY_DISABLED_TARGETS (~(HWY_AVX2 | HWY_SSE4 | HWY_NEON | HWY_SCALAR | 1LL << 61))
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/mma.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstring>

#include "base/cpu_features.hpp"
#include "emu/collective.hpp"

HWY_BEFORE_NAMESPACE();
namespace flashfit::emu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kM = 16, kN = 8, kK = 16;

/// n 16-bit numbers to fp32; n a multiple of 8.
template <class Half>
HWY_INLINE void widen(const unsigned short* from, float* to, int n) {
  const hn::CappedTag<float, 8> f32;
  const hn::Rebind<Half, decltype(f32)> f16;
  const hn::Rebind<unsigned short, decltype(f32)> u16;
  for (int i = 0; i < n; i += static_cast<int>(hn::Lanes(f32)))
    hn::Store(hn::PromoteTo(f32, hn::BitCast(f16, hn::Load(u16, from + i))), f32, to + i);
}

template <class Half>
HWY_INLINE void multiply(void* const* lanes) {
  alignas(64) unsigned short a16[kM * kK], b16[kK * kN];
  alignas(64) float a[kM * kK], b[kK * kN], d[kM * kN];
  for (int l = 0; l < kLanes; ++l) {
    const auto& lane = *static_cast<const MmaOperands*>(lanes[l]);
    const int row = l / 4, col = l % 4 * 2;
    for (int i = 0; i < 4; ++i) std::memcpy(&a16[(row + i % 2 * 8) * kK + col + i / 2 * 8], &lane.a[i], 4);
    for (int i = 0; i < 2; ++i) {
      b16[(col + i * 8) * kN + row] = static_cast<unsigned short>(lane.b[i]);
      b16[(col + i * 8 + 1) * kN + row] = static_cast<unsigned short>(lane.b[i] >> 16);
      std::memcpy(&d[(row + i * 8) * kN + col], lane.d + 2 * i, 8);
    }
  }
  widen<Half>(a16, a, kM * kK);
  widen<Half>(b16, b, kK * kN);
  const hn::CappedTag<float, kN> f32;
  const int step = static_cast<int>(hn::Lanes(f32));
  // Four rows at once hide the latency of a sum.
  for (int m = 0; m < kM; m += 4)
    for (int n = 0; n < kN; n += step) {
      float* const to = d + m * kN + n;
      auto d0 = hn::Load(f32, to), d1 = hn::Load(f32, to + kN), d2 = hn::Load(f32, to + 2 * kN),
           d3 = hn::Load(f32, to + 3 * kN);
      for (int k = 0; k < kK; ++k) {
        const float* const from = a + m * kK + k;
        const auto right = hn::Load(f32, b + k * kN + n);
        d0 = hn::MulAdd(hn::Set(f32, from[0]), right, d0);
        d1 = hn::MulAdd(hn::Set(f32, from[kK]), right, d1);
        d2 = hn::MulAdd(hn::Set(f32, from[2 * kK]), right, d2);
        d3 = hn::MulAdd(hn::Set(f32, from[3 * kK]), right, d3);
      }
      hn::Store(d0, f32, to);
      hn::Store(d1, f32, to + kN);
      hn::Store(d2, f32, to + 2 * kN);
      hn::Store(d3, f32, to + 3 * kN);
    }
  for (int l = 0; l < kLanes; ++l)
    for (int i = 0; i < 2; ++i)
      std::memcpy(static_cast<MmaOperands*>(lanes[l])->d + 2 * i, &d[(l / 4 + i * 8) * kN + l % 4 * 2], 8);
}

void multiply_f16(void* const* lanes) { multiply<hwy::float16_t>(lanes); }
void multiply_bf16(void* const* lanes) { multiply<hwy::bfloat16_t>(lanes); }

}  // namespace flashfit::emu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flashfit::emu {
namespace {

/// The two types' multiply on the widest instruction set that is there.
struct Multiply {
  void (*f16)(void* const*);
  void (*bf16)(void* const*);
};

Multiply choose() {
#if HWY_TARGETS & HWY_AVX2 & ~HWY_STATIC_TARGET
  if (cpu_has_avx2()) return {N_AVX2::multiply_f16, N_AVX2::multiply_bf16};
#endif
#if HWY_TARGETS & HWY_SSE4 & ~HWY_STATIC_TARGET
  if (cpu_has_sse4()) return {N_SSE4::multiply_f16, N_SSE4::multiply_bf16};
#endif
  return {HWY_STATIC_DISPATCH(multiply_f16), HWY_STATIC_DISPATCH(multiply_bf16)};
}

const Multiply multiply = choose();
void mma_f16(void* const* lanes) { multiply.f16(lanes); }
void mma_bf16(void* const* lanes) { multiply.bf16(lanes); }

}  // namespace

constexpr Collective kMmaM16N8K16F16{"mma_m16n8k16", mma_f16, &Stats::mma};
constexpr Collective kMmaM16N8K16BF16{"mma_m16n8k16", mma_bf16, &Stats::mma};

}  // namespace flashfit::emu
#endif
