// exp for non-positive arguments. Compiled once for each Highway target, hence the toggled guard.
#if defined(FLASHFIT_CPU_EXP_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHFIT_CPU_EXP_INL
#undef FLASHFIT_CPU_EXP_INL
#else
#define FLASHFIT_CPU_EXP_INL
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace flashfit::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// e^x for x <= 0 within 1.5 units in the last place (tests/runtime/cpu/exp_test.cpp tries every float); below
/// ln(2^-126), -inf included, exactly 0; NaN stays.
///
/// x = n ln 2 + r with |r| <= ln 2 / 2, e^x = 2^n (1 + r + r^2 q(r)).
/// q has degree 4, fitted for least relative error of the whole: 2^-28.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_nonpositive(D d, V x) {
  // Added to a number of magnitude below 2^22, this rounds it to an integer held in the
  // lowest mantissa bits; 127 is the exponent's bias.
  const V magic = hn::Set(d, 0x1.8p23f + 127.0f);
  const V shifted = hn::MulAdd(x, hn::Set(d, 0x1.715476p0f), magic);
  const V n = hn::Sub(shifted, magic);
  // ln 2 in two parts: the first has 12 bits, so that its product with n is exact with and without fused multiply-add.
  V r = hn::NegMulAdd(n, hn::Set(d, 0x1.62ep-1f), x);
  r = hn::NegMulAdd(n, hn::Set(d, 0x1.0bfbe8p-15f), r);
  V q = hn::MulAdd(hn::Set(d, 0x1.6a23cep-10f), r, hn::Set(d, 0x1.123a20p-7f));
  q = hn::MulAdd(q, r, hn::Set(d, 0x1.5558f2p-5f));
  q = hn::MulAdd(q, r, hn::Set(d, 0x1.555492p-3f));
  q = hn::MulAdd(q, r, hn::Set(d, 0x1.fffffcp-2f));
  const V mantissa = hn::Add(hn::MulAdd(hn::Mul(q, r), r, r), hn::Set(d, 1.0f));
  const hn::RebindToSigned<D> di;
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -0x1.5d589ep6f)), hn::Mul(mantissa, power));
}

}  // namespace flashfit::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
