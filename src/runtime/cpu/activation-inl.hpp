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

/// Its derivative, sigmoid(x) (1 - sigmoid(x)), without the difference, which loses digits.
HWY_INLINE Vec sigmoid_slope(Vec x) {
  const Tag d;
  const Vec e = exp_nonpositive(d, hn::Neg(hn::Abs(x))), sum = hn::Add(hn::Set(d, 1.0f), e);
  return hn::Div(e, hn::Mul(sum, sum));
}

/// 2 sqrt(2 / pi) (g + 0.044715 g^3): the sigmoid of it is (1 + tanh(half of it)) / 2, without cancellation.
HWY_INLINE Vec gelu_argument(Vec g) {
  const Tag d;
  const Vec cubic = hn::Mul(hn::Mul(g, g), hn::Mul(g, hn::Set(d, 0.044715f)));
  return hn::Mul(hn::Set(d, 1.5957691216057308f), hn::Add(g, cubic));
}

HWY_INLINE Vec gelu_tanh(Vec g) { return hn::Mul(g, sigmoid(gelu_argument(g))); }

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

/// h = activation(g, u), and what its gradient is multiplied by to be g's and u's, of `count` features.
inline void activate_backward(const ExpertsProblem& p, const float* g, const float* u, float* h, float* by_g,
                              float* by_u, std::int64_t count) {
  const Tag d;
  const Vec one = hn::Set(d, 1.0f), zero = hn::Zero(d);
  const auto each = [&](auto function) {
    for (std::int64_t i = 0; i < count; i += kLanes) {
      Vec result[3];
      function(hn::LoadU(d, g + i), hn::LoadU(d, u + i), result);
      hn::StoreU(result[0], d, h + i);
      hn::StoreU(result[1], d, by_g + i);
      hn::StoreU(result[2], d, by_u + i);
    }
  };
  switch (p.activation) {
    case Activation::kSwiglu: {
      const Vec alpha = hn::Set(d, p.alpha), limit = hn::Set(d, p.limit), shift = hn::Set(d, p.shift);
      const Vec least = hn::Neg(limit);
      return each([&](Vec g0, Vec u0, Vec* result) {
        const Vec gate = at_most(g0, limit), up = hn::Add(at_least(at_most(u0, limit), least), shift);
        const Vec s = sigmoid(hn::Mul(alpha, gate)), swish = hn::Mul(gate, s);
        const Vec slope = hn::MulAdd(hn::Mul(alpha, gate), sigmoid_slope(hn::Mul(alpha, gate)), s);
        result[0] = hn::Mul(swish, up);
        result[1] = hn::IfThenElse(hn::Gt(g0, limit), zero, hn::Mul(slope, up));
        result[2] = hn::IfThenElse(hn::Or(hn::Gt(u0, limit), hn::Lt(u0, least)), zero, swish);
      });
    }
    case Activation::kGegluTanh:
      return each([&](Vec gate, Vec up, Vec* result) {
        const Vec argument = gelu_argument(gate), share = sigmoid(argument);
        const Vec inner = hn::MulAdd(hn::Set(d, 3 * 0.044715f), hn::Mul(gate, gate), one);
        const Vec slope = hn::Mul(hn::Set(d, 1.5957691216057308f), inner);
        const Vec bend = hn::Mul(gate, hn::Mul(sigmoid_slope(argument), slope));
        result[0] = hn::Mul(hn::Mul(gate, share), up);
        result[1] = hn::Mul(hn::Add(share, bend), up);
        result[2] = hn::Mul(gate, share);
      });
    case Activation::kGegluErf:
      return each([&](Vec gate, Vec up, Vec* result) {
        HWY_ALIGN float x[kLanes], density[kLanes];
        hn::Store(gate, d, x);
        for (int i = 0; i < kLanes; ++i) {
          density[i] = 0.3989422804014327f * std::exp(-0.5f * x[i] * x[i]);
          x[i] = 0.5f * std::erfc(x[i] * -0.70710678118654752f);
        }
        const Vec share = hn::Load(d, x);
        result[0] = hn::Mul(hn::Mul(gate, share), up);
        result[1] = hn::Mul(hn::MulAdd(gate, hn::Load(d, density), share), up);
        result[2] = hn::Mul(gate, share);
      });
    case Activation::kSilu:
      return each([&](Vec, Vec up, Vec* result) {
        const Vec s = sigmoid(up);
        result[0] = hn::Mul(up, s);
        result[1] = zero;
        result[2] = hn::MulAdd(up, sigmoid_slope(up), s);
      });
    case Activation::kRelu2:
      return each([&](Vec, Vec up, Vec* result) {
        const Vec positive = at_least(up, zero);
        result[0] = hn::Mul(positive, positive);
        result[1] = zero;
        result[2] = hn::Add(positive, positive);
      });
  }
}

}  // namespace flashfit::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
