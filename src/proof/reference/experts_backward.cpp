#include "proof/reference/experts_backward.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/half.hpp"
#include "proof/reference/roundoff.hpp"

namespace flashfit::reference {
Slopes slopes_of(const ExpertsProblem& p, double g, double u) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const double limit = p.limit;
  switch (p.activation) {
    case Activation::kSwiglu: {
      const double alpha = p.alpha, gate = std::min(g, limit), up = std::clamp(u, -limit, limit) + p.shift;
      const double s = sigmoid(alpha * gate);
      return {g > limit ? 0 : (s + alpha * gate * s * (1 - s)) * up, std::abs(u) > limit ? 0 : gate * s};
    }
    case Activation::kGegluTanh: {
      const double c = std::sqrt(2 / std::acos(-1.0)), t = std::tanh(c * (g + 0.044715 * g * g * g));
      return {(0.5 * (1 + t) + 0.5 * g * (1 - t * t) * c * (1 + 3 * 0.044715 * g * g)) * u, 0.5 * g * (1 + t)};
    }
    case Activation::kGegluErf: {
      const double share = 0.5 * std::erfc(-g * std::sqrt(0.5));
      return {(share + g * std::exp(-g * g / 2) / std::sqrt(2 * std::acos(-1.0))) * u, g * share};
    }
    case Activation::kSilu:
      return {0, sigmoid(u) * (1 + u * (1 - sigmoid(u)))};
    case Activation::kRelu2:
      return {0, u < 0 ? 0 : 2 * u};
  }
  return {0, 0};
}

namespace {

/// Every step through `round`, every sum through `add`.
template <class Round, class Sum>
ExpertsGradientValues gradients(const ExpertsData& data, const Grid& dout, Round round, Sum /*type of sums*/) {
  const ExpertsProblem& p = data.spec.problem;
  const std::int64_t outputs = p.first_outputs(), hidden = p.hidden, inner = p.intermediate;
  const auto zeros = [](std::int64_t count) { return std::vector<double>(static_cast<std::size_t>(count), 0); };
  const auto sums = [](std::int64_t count) { return std::vector<Sum>(static_cast<std::size_t>(count), Sum{0}); };
  std::vector<Sum> dx = sums(p.tokens * hidden), dw13 = sums(p.owned() * outputs * hidden),
                   dw2 = sums(p.owned() * hidden * inner), db13 = sums(p.owned() * outputs),
                   db2 = sums(p.owned() * hidden);
  ExpertsGradientValues out;
  out.dweights = zeros(p.rows());
  const bool gated = has_gate(p.activation), pairs = p.gate_up == GateUp::kInterleaved,
             on_input = p.weight_on == WeightOn::kInput;
  const auto w13 = [&](int e, std::int64_t o, std::int64_t c) {
    return p.transposed ? data.w13.get(e, c, o) : data.w13.get(e, o, c);
  };
  const auto w2 = [&](int e, std::int64_t c, std::int64_t i) {
    return p.transposed ? data.w2.get(e, i, c) : data.w2.get(e, c, i);
  };
  for (std::int64_t choice = 0; choice < p.rows(); ++choice) {
    const std::int64_t t = choice / p.top_k;
    const int e = data.ids[choice] - p.low;
    if (data.ids[choice] < p.low || data.ids[choice] >= p.high) continue;
    const double weight = data.weights[choice];
    std::vector<double> x = zeros(hidden), z = zeros(outputs), h = zeros(inner), dh = zeros(inner), dz = zeros(outputs);
    for (std::int64_t c = 0; c < hidden; ++c)
      x[c] = on_input ? round(data.x.get(0, t, c) * weight) : data.x.get(0, t, c);
    for (std::int64_t o = 0; o < outputs; ++o) {
      Sum sum = 0;
      for (std::int64_t c = 0; c < hidden; ++c) sum += static_cast<Sum>(x[c]) * static_cast<Sum>(w13(e, o, c));
      z[o] = round(round(sum) + (p.bias13 ? data.b13.get(e, 0, o) : 0));
    }
    const auto gate_at = [&](std::int64_t i) { return pairs ? 2 * i : i; };
    const auto up_at = [&](std::int64_t i) { return !gated ? i : pairs ? 2 * i + 1 : inner + i; };
    for (std::int64_t i = 0; i < inner; ++i) h[i] = round(activate(p, gated ? z[gate_at(i)] : 0, z[up_at(i)]));
    std::vector<double> dy = zeros(hidden);
    Sum dweight = 0;
    double size = 0;
    const auto add = [&](double term) { dweight += static_cast<Sum>(term), size += std::abs(term); };
    for (std::int64_t c = 0; c < hidden; ++c) {
      const double of_out = dout.get(0, t, c);
      dy[c] = on_input ? of_out : round(of_out * weight);
      Sum y = 0;
      for (std::int64_t i = 0; i < inner; ++i) y += static_cast<Sum>(h[i]) * static_cast<Sum>(w2(e, c, i));
      if (!on_input) add(of_out * round(round(y) + (p.bias2 ? data.b2.get(e, 0, c) : 0)));
      db2[e * hidden + c] += static_cast<Sum>(dy[c]);
      for (std::int64_t i = 0; i < inner; ++i)
        dw2[(e * hidden + c) * inner + i] += static_cast<Sum>(dy[c]) * static_cast<Sum>(h[i]);
    }
    for (std::int64_t i = 0; i < inner; ++i) {
      Sum sum = 0;
      for (std::int64_t c = 0; c < hidden; ++c) sum += static_cast<Sum>(dy[c]) * static_cast<Sum>(w2(e, c, i));
      dh[i] = round(sum);
      const Slopes slopes = slopes_of(p, gated ? z[gate_at(i)] : 0, z[up_at(i)]);
      if (gated) dz[gate_at(i)] = round(dh[i] * round(slopes.g));
      dz[up_at(i)] = round(dh[i] * round(slopes.u));
    }
    for (std::int64_t o = 0; o < outputs; ++o) {
      db13[e * outputs + o] += static_cast<Sum>(dz[o]);
      for (std::int64_t c = 0; c < hidden; ++c)
        dw13[(e * outputs + o) * hidden + c] += static_cast<Sum>(dz[o]) * static_cast<Sum>(x[c]);
    }
    for (std::int64_t c = 0; c < hidden; ++c) {
      Sum sum = 0;
      for (std::int64_t o = 0; o < outputs; ++o) sum += static_cast<Sum>(dz[o]) * static_cast<Sum>(w13(e, o, c));
      const double of_x = round(sum);
      if (on_input) add(of_x * data.x.get(0, t, c));
      dx[t * hidden + c] += static_cast<Sum>(on_input ? round(of_x * weight) : of_x);
    }
    out.dweights[choice] = dweight;
    out.dweight_size = std::max(out.dweight_size, size);
  }
  const auto rounded = [&](const std::vector<Sum>& from) {
    std::vector<double> to(from.size());
    std::transform(from.begin(), from.end(), to.begin(), [&](Sum s) { return round(s); });
    return to;
  };
  out.dx = rounded(dx), out.dw13 = rounded(dw13), out.dw2 = rounded(dw2);
  out.db13 = rounded(db13), out.db2 = rounded(db2);
  return out;
}

}  // namespace

ExpertsGradientValues expected_gradients(const ExpertsData& data, const Grid& dout) {
  return gradients(data, dout, [](double x) { return x; }, double{0});
}

ExpertsGradientValues naive_gradients(const ExpertsData& data, const Grid& dout) {
  const DType dtype = data.spec.problem.dtype;
  const auto round = [dtype](double x) -> double {
    const auto single = static_cast<float>(x);
    if (dtype == DType::kF16) return to_float(from_float<f16>(single));
    if (dtype == DType::kBF16) return to_float(from_float<bf16>(single));
    return single;
  };
  return gradients(data, dout, round, float{0});
}

std::string defect_of_gradient(const char* name, const std::vector<double>& got, const std::vector<double>& want,
                               const std::vector<double>& naive, DType dtype, double size) {
  double largest = size, worst = 0, its = 0;
  std::size_t where = 0;
  for (const double x : want) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!std::isfinite(got[i])) return fmt::format("{}[{}]: {} instead of {}", name, i, got[i], want[i]);
    if (std::isfinite(naive[i])) its = std::max(its, std::abs(naive[i] - want[i]));
    if (std::abs(got[i] - want[i]) <= worst) continue;
    worst = std::abs(got[i] - want[i]), where = i;
  }
  const double bound = 2 * its + largest * (unit_roundoff(dtype) + 4 * 0x1p-24);
  if (worst <= bound) return {};
  return fmt::format("{}[{}]: {} instead of {}: off by {:.3g}, accepted {:.3g}", name, where, got[where], want[where],
                     worst, bound);
}

}  // namespace flashfit::reference
