// What lies between the products of an expert. Compiled once for each Highway target, hence the toggled guard.
#if defined(FLASHFIT_CPU_ACTIVATION_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHFIT_CPU_ACTIVATION_INL
#undef FLASHFIT_CPU_ACTIVATION_INL
#else
#define FLASHFIT_CPU_ACTIVATION_INL
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>

#include "kernels/moe/experts/problem.hpp"
#include "runtime/cpu/exp-inl.hpp"
#include "runtime/cpu/panel-inl.hpp"
#include "runtime/cpu/tanh-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace flashfit::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// 1 / (1 + exp(-x)): of the exponential that cannot overflow.
HWY_INLINE Vec sigmoid(Vec x) {
  const Tag d;
  const Vec one = hn::Set(d, 1.0f), e = exp_nonpositive(d, hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
}

/// min(x, limit) that keeps NaN.
HWY_INLINE Vec at_most(Vec x, Vec limit) { return hn::IfThenElse(hn::Gt(x, limit), limit, x); }
HWY_INLINE Vec at_least(Vec x, Vec limit) { return hn::IfThenElse(hn::Lt(x, limit), limit, x); }

HWY_INLINE Vec gelu_tanh(Vec g) {
  const Tag d;
  const Vec cubic = hn::Mul(hn::Mul(g, g), hn::Mul(g, hn::Set(d, 0.044715f)));
  const Vec inner = hn::Mul(hn::Set(d, 0.7978845608028654f), hn::Add(g, cubic));
  return hn::Mul(hn::Mul(hn::Set(d, 0.5f), g), hn::Add(hn::Set(d, 1.0f), tanh(d, inner)));
}

/// No vector library has an erf that is as near as the C library's; beside two products it costs little.
HWY_INLINE Vec gelu_erf(Vec g) {
  const Tag d;
  HWY_ALIGN float x[kLanes];
  hn::Store(g, d, x);
  // erfc keeps the digits that 1 + erf loses below 0.
  for (float& each : x) each *= 0.5f * std::erfc(each * -0.70710678118654752f);
  return hn::Load(d, x);
}

/// h = activation(g, u) of `count` features, as problem.hpp defines it; all are whole vectors long.
inline void activate(const ExpertsProblem& p, const float* g, const float* u, float* h, std::int64_t count) {
  const Tag d;
  const auto each = [&](auto function) {
    for (std::int64_t i = 0; i < count; i += kLanes)
      hn::StoreU(function(hn::LoadU(d, g + i), hn::LoadU(d, u + i)), d, h + i);
  };
  switch (p.activation) {
    case Activation::kSwiglu: {
      const Vec alpha = hn::Set(d, p.alpha), limit = hn::Set(d, p.limit), shift = hn::Set(d, p.shift);
      return each([&](Vec gate, Vec up) {
        gate = at_most(gate, limit);
        up = hn::Add(at_least(at_most(up, limit), hn::Neg(limit)), shift);
        return hn::Mul(hn::Mul(gate, sigmoid(hn::Mul(alpha, gate))), up);
      });
    }
    case Activation::kGegluTanh:
      return each([](Vec gate, Vec up) { return hn::Mul(gelu_tanh(gate), up); });
    case Activation::kGegluErf:
      return each([](Vec gate, Vec up) { return hn::Mul(gelu_erf(gate), up); });
    case Activation::kSilu:
      return each([](Vec, Vec up) { return hn::Mul(up, sigmoid(up)); });
    case Activation::kRelu2:
      return each([&](Vec, Vec up) {
        const Vec positive = at_least(up, hn::Zero(d));
        return hn::Mul(positive, positive);
      });
  }
}

}  // namespace flashfit::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
