// Products of two fp16 or two bf16 numbers are exact in fp32, so a fused and a separate multiply-add give the same
// bits.
//
// The tensor core's sum, vectorised over columns: `top` is the largest power of two below the terms, each term is cut
// to a whole number of top * 2^-fraction_bits, and whole numbers add up in int32. What that cannot hold (numbers that
// are not finite, extreme exponents, a sum of 2^31 units) goes to fused_sum(), element by element.
//
// Compiled once for each of these targets; the last two are Highway's fallbacks without SIMD. A row of the result may
// have 8 columns alone: wider vectors add nothing.
#define HWY_DISABLED_TARGETS (~(HWY_AVX2 | HWY_SSE4 | HWY_NEON | HWY_SCALAR | 1LL << 61))
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "proof/emu/product.cpp"
#include "proof/emu/product.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/base/cpu_features.hpp"
#include "proof/emu/fused_sum.hpp"

HWY_BEFORE_NAMESPACE();
namespace flashfit::emu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kK = 16, kMostRows = 64, kMostColumns = 256;

using Floats = hn::CappedTag<float, 8>;
using Ints = hn::RebindToSigned<Floats>;
constexpr Floats kFloats;
constexpr Ints kInts;
inline int width() { return static_cast<int>(hn::Lanes(kFloats)); }

/// n 16-bit numbers to fp32; n a multiple of 8.
template <class Half>
HWY_INLINE void widen(const unsigned short* from, float* to, int n) {
  const hn::Rebind<Half, Floats> half;
  const hn::Rebind<unsigned short, Floats> bits;
  for (int i = 0; i < n; i += width())
    hn::Store(hn::PromoteTo(kFloats, hn::BitCast(half, hn::LoadU(bits, from + i))), kFloats, to + i);
}

/// In fp32, in the order of k. Four rows at once hide the latency of a sum.
HWY_INLINE void multiply_add(const float* a, const float* b, const Product& p) {
  for (int m = 0; m < p.m; m += 4)
    for (int n = 0; n < p.n; n += width()) {
      float* const to = p.d + m * p.n + n;
      auto d0 = hn::LoadU(kFloats, to), d1 = hn::LoadU(kFloats, to + p.n), d2 = hn::LoadU(kFloats, to + 2 * p.n),
           d3 = hn::LoadU(kFloats, to + 3 * p.n);
      for (int k = 0; k < kK; ++k) {
        const float* const from = a + m * kK + k;
        const auto right = hn::Load(kFloats, b + k * p.n + n);
        d0 = hn::MulAdd(hn::Set(kFloats, from[0]), right, d0);
        d1 = hn::MulAdd(hn::Set(kFloats, from[kK]), right, d1);
        d2 = hn::MulAdd(hn::Set(kFloats, from[2 * kK]), right, d2);
        d3 = hn::MulAdd(hn::Set(kFloats, from[3 * kK]), right, d3);
      }
      hn::StoreU(d0, kFloats, to);
      hn::StoreU(d1, kFloats, to + p.n);
      hn::StoreU(d2, kFloats, to + 2 * p.n);
      hn::StoreU(d3, kFloats, to + 3 * p.n);
    }
}

/// The power of two at or below each |x|, by which terms are aligned: for subnormals of the operands' format its least
/// one, for 0 none, which is 0. False if not all are finite. n a multiple of 8.
template <class Half>
HWY_INLINE bool powers(const float* x, float* to, int n) {
  constexpr float kLeast = std::is_same_v<Half, hwy::float16_t> ? 0x1p-14f : 0x1p-126f;
  const auto exponent = hn::BitCast(kFloats, hn::Set(kInts, 0x7f800000));
  const auto zero = hn::Zero(kFloats);
  auto top = zero;
  for (int i = 0; i < n; i += width()) {
    const auto v = hn::Load(kFloats, x + i);
    const auto power = hn::Max(hn::And(v, exponent), hn::Set(kFloats, kLeast));
    top = hn::Max(top, power);
    hn::Store(hn::IfThenElse(hn::Eq(v, zero), zero, power), kFloats, to + i);
  }
  return hn::AllTrue(kFloats, hn::Lt(top, exponent));
}

struct Widened {
  alignas(64) float a[kMostRows * kK], b[kK * kMostColumns];
};

/// One group of terms, for width() columns of one row. False where fused_sum() must do it: nothing is written.
template <int Terms>
HWY_INLINE bool add_group(const float* a, const float* a_power, const float* b, const float* b_power, int columns,
                          int fraction_bits, float* d) {
  // Scales and results stay normal in fp32 between these.
  const auto least = hn::Set(kFloats, 0x1p-100f), most = hn::Set(kFloats, 0x1p100f);
  const auto exponent = hn::BitCast(kFloats, hn::Set(kInts, 0x7f800000));
  const auto c = hn::LoadU(kFloats, d);
  auto top = hn::And(c, exponent);
  for (int k = 0; k < Terms; ++k)
    top = hn::Max(top, hn::Mul(hn::Set(kFloats, a_power[k]), hn::Load(kFloats, b_power + k * columns)));
  if (!hn::AllTrue(kFloats, hn::And(hn::Ge(top, least), hn::Le(top, most)))) return false;
  // 2^(fraction_bits) / top, and its inverse, by their exponents.
  const auto bits = hn::BitCast(kInts, top);
  const auto scale = hn::BitCast(kFloats, hn::Sub(hn::Set(kInts, (254 + fraction_bits) << 23), bits));
  const auto unit = hn::BitCast(kFloats, hn::Sub(bits, hn::Set(kInts, fraction_bits << 23)));
  auto first = hn::ConvertTo(kInts, hn::Mul(c, scale)), second = hn::Zero(kInts);
  const auto term = [&](int k) HWY_ATTR {
    return hn::ConvertTo(kInts, hn::Mul(hn::Mul(hn::Set(kFloats, a[k]), hn::Load(kFloats, b + k * columns)), scale));
  };
  for (int k = 0; k < Terms; k += 2) {
    first = hn::Add(first, term(k));
    second = hn::Add(second, term(k + 1));
  }
  const auto large = hn::Add(hn::Abs(hn::ShiftRight<1>(first)), hn::Abs(hn::ShiftRight<1>(second)));
  if (!hn::AllTrue(kInts, hn::Lt(large, hn::Set(kInts, (1 << 30) - 256)))) return false;
  // To fp32, towards zero: what was rounded up goes one back.
  const auto sum = hn::Add(first, second);
  const auto near = hn::ConvertTo(kFloats, sum);
  const auto rounded_up = hn::Gt(hn::Abs(hn::ConvertTo(kInts, near)), hn::Abs(sum));
  const auto cut = hn::Add(hn::BitCast(kInts, near), hn::VecFromMask(kInts, rounded_up));
  hn::StoreU(hn::Mul(hn::BitCast(kFloats, cut), unit), kFloats, d);
  return true;
}

/// `power`: the powers of x, or nullptr to leave all to fused_sum().
template <int Terms>
HWY_ATTR void multiply_fused(DType dtype, const Product& p, const Widened& x, const Widened* power, int fraction_bits) {
  for (int m = 0; m < p.m; ++m)
    for (int n = 0; n < p.n; n += width())
      for (int k = 0; k < kK; k += Terms) {
        const int row = m * kK + k, column = k * p.n + n;
        float* const d = p.d + m * p.n + n;
        if (power != nullptr &&
            add_group<Terms>(x.a + row, power->a + row, x.b + column, power->b + column, p.n, fraction_bits, d))
          continue;
        for (int i = 0; i < width(); ++i)
          d[i] = fused_sum(dtype, p.a + row, p.b + column + i, p.n, Terms, d[i], fraction_bits);
      }
}

template <class Half>
HWY_INLINE void multiply(DType dtype, const Product& p, const TensorCore* core) {
  // Too large for the stack of a fibre. Nobody else runs before this returns.
  static thread_local Widened x, power;
  widen<Half>(p.a, x.a, p.m * kK);
  widen<Half>(p.b, x.b, kK * p.n);
  if (core == nullptr) return multiply_add(x.a, x.b, p);
  // An infinite power times none is a NaN, which no comparison of the largest would show.
  const bool tame = powers<Half>(x.a, power.a, p.m * kK) && powers<Half>(x.b, power.b, kK * p.n);
  const auto fused = core->terms == 4 ? multiply_fused<4> : core->terms == 8 ? multiply_fused<8> : multiply_fused<16>;
  fused(dtype, p, x, tame ? &power : nullptr, core->fraction_bits);
}

void multiply_f16(const Product& p, const TensorCore* core) { multiply<hwy::float16_t>(DType::kF16, p, core); }
void multiply_bf16(const Product& p, const TensorCore* core) { multiply<hwy::bfloat16_t>(DType::kBF16, p, core); }

}  // namespace flashfit::emu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flashfit::emu {
namespace {

/// The two types' multiply on the widest instruction set that is there.
struct Multiply {
  void (*f16)(const Product&, const TensorCore*);
  void (*bf16)(const Product&, const TensorCore*);
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

}  // namespace

void accumulate(DType dtype, const Product& product, const TensorCore* core) {
  static const Multiply multiply = choose();
  (dtype == DType::kF16 ? multiply.f16 : multiply.bf16)(product, core);
}

}  // namespace flashfit::emu
#endif
