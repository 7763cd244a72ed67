// The hyperbolic tangent. Compiled once for each Highway target, hence the toggled guard.
#if defined(FLASHFIT_CPU_TANH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHFIT_CPU_TANH_INL
#undef FLASHFIT_CPU_TANH_INL
#else
#define FLASHFIT_CPU_TANH_INL
#endif

#include <hwy/highway.h>

#include "runtime/cpu/exp-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace flashfit::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// tanh within 2 units in the last place (tests/runtime/cpu/tanh_test.cpp); 1 at infinity; NaN stays.
///
/// Up to 5/8 it is x + x^3 p(x^2), with p of degree 4 fitted for least relative error of the whole: 2^-27. Beyond,
/// (1 - e) / (1 + e) with e = exp(-2 |x|): there 1 - e is no small difference of large numbers.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tanh(D d, V x) {
  const V size = hn::Abs(x), square = hn::Mul(x, x);
  V p = hn::MulAdd(hn::Set(d, -0x1.75e1b8p-8f), square, hn::Set(d, 0x1.522696p-6f));
  p = hn::MulAdd(p, square, hn::Set(d, -0x1.b83c58p-5f));
  p = hn::MulAdd(p, square, hn::Set(d, 0x1.110726p-3f));
  p = hn::MulAdd(p, square, hn::Set(d, -0x1.555532p-2f));
  const V near = hn::MulAdd(hn::Mul(size, square), p, size);
  const V e = exp_nonpositive(d, hn::Mul(size, hn::Set(d, -2.0f))), one = hn::Set(d, 1.0f);
  const V far = hn::Div(hn::Sub(one, e), hn::Add(one, e));
  return hn::CopySign(hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.625f)), near, far), x);
}

}  // namespace flashfit::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
