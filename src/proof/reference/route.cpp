#include "proof/reference/route.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/base/half.hpp"
#include "proof/reference/tensors.hpp"

namespace flashfit::reference {
namespace {

constexpr unsigned char kPoison = 0xff;  // NaN in every dtype
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::int64_t elements(const RouteCase& c) { return c.problem.tokens * (c.problem.experts + c.gap); }

void store(unsigned char* at, DType dtype, double x) {
  const auto put = [&](auto value) { std::memcpy(at, &value, sizeof value); };
  if (dtype == DType::kF16)
    put(from_float<f16>(static_cast<float>(x)));
  else if (dtype == DType::kBF16)
    put(from_float<bf16>(static_cast<float>(x)));
  else
    put(static_cast<float>(x));
}

double load(const unsigned char* at, DType dtype) {
  const auto get = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  if (dtype == DType::kF16) return to_float(get(f16{}));
  if (dtype == DType::kBF16) return to_float(get(bf16{}));
  return get(float{});
}

double logit(Logits kind, Random& random, std::int64_t token, int expert) {
  const double x = random.normal();
  switch (kind) {
    case Logits::kNormal:
      return 3 * x;
    case Logits::kTies: {
      constexpr double kValues[] = {-0.0, 0.0, 1.0, -1.5};
      return kValues[random.bits() % 4];
    }
    case Logits::kEqual:
      return -2.25;
    case Logits::kShifted:
      return x - 30;
    case Logits::kSteep:
      return 300 * x;
    case Logits::kNan:
      return token % 3 == 1 && expert % 5 == 2 ? (expert % 2 ? kNan : -kNan) : x;
    case Logits::kInfinite:
      return token % 4 == 1 ? (expert == 1 ? kInfinity : x) : token % 4 == 2 ? -kInfinity : x;
    case Logits::kHidden:
      return random.bits() % 8 == 0 ? x : -kInfinity;
  }
  return x;
}

/// One token in fp64.
struct Expected {
  std::vector<int> ids;
  std::vector<double> weights, below;  ///< below: how far under the largest logit
};
Expected expected(const RouteProblem& p, const std::vector<double>& logits) {
  std::vector<int> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    if (std::isnan(logits[a]) || std::isnan(logits[b])) return std::isnan(logits[a]) && !std::isnan(logits[b]);
    return logits[a] > logits[b];
  });
  Expected e;
  e.ids.assign(order.begin(), order.begin() + p.top_k);
  const double largest = logits[order[0]];
  const auto sum_over = [&](const std::vector<int>& experts) {
    double sum = 0;
    for (const int i : experts) sum += std::exp(logits[i] - largest);
    return sum;
  };
  const bool all = p.router == Router::kSoftmax;
  const double sum = sum_over(all ? order : e.ids);
  double of_chosen = 0;
  for (const int i : e.ids) {
    e.weights.push_back(std::exp(logits[i] - largest) / sum);
    e.below.push_back(largest - logits[i]);
    of_chosen += e.weights.back();
  }
  if (p.renormalize)
    for (double& w : e.weights) w /= of_chosen;
  return e;
}

}  // namespace

RouteCall RouteData::call() {
  return {.problem = spec.problem,
          .logits = logits.data() + kRedZone * size_of(spec.problem.dtype),
          .logits_row = spec.problem.experts + spec.gap,
          .weights = weights.data() + kRedZone,
          .ids = ids.data() + kRedZone};
}

std::size_t RouteData::logits_bytes() const {
  return spec.problem.tokens == 0 ? 0
                                  : static_cast<std::size_t>(elements(spec) - spec.gap) * size_of(spec.problem.dtype);
}

std::size_t RouteData::results_bytes() const {
  return static_cast<std::size_t>(spec.problem.tokens) * spec.problem.top_k * sizeof(float);
}

RouteData make_data(const RouteCase& spec) {
  const RouteProblem& p = spec.problem;
  const auto results = static_cast<std::size_t>(p.tokens * p.top_k + 2 * RouteData::kRedZone);
  RouteData data{.spec = spec, .logits = {}, .weights = {}, .ids = {}};
  data.logits.assign(static_cast<std::size_t>(elements(spec) + 2 * RouteData::kRedZone) * size_of(p.dtype), kPoison);
  data.weights.assign(results, std::numeric_limits<float>::quiet_NaN());
  data.ids.assign(results, -1);
  Random random(1 + static_cast<std::uint64_t>(p.experts) * 1000 + static_cast<std::uint64_t>(spec.logits));
  for (std::int64_t t = 0; t < p.tokens; ++t)
    for (int e = 0; e < p.experts; ++e)
      store(data.logits.data() + (RouteData::kRedZone + t * (p.experts + spec.gap) + e) * size_of(p.dtype), p.dtype,
            logit(spec.logits, random, t, e));
  return data;
}

std::string defect_of(const RouteData& data) {
  const RouteProblem& p = data.spec.problem;
  const std::int64_t first = RouteData::kRedZone, last = first + p.tokens * p.top_k;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(data.ids.size()); ++i)
    if ((i < first || i >= last) && (data.ids[i] != -1 || !std::isnan(data.weights[i])))
      return fmt::format("{}: result {} lies outside and was written", data.spec.name, i - first);
  std::vector<double> logits(static_cast<std::size_t>(p.experts));
  for (std::int64_t t = 0; t < p.tokens; ++t) {
    for (int e = 0; e < p.experts; ++e)
      logits[e] = load(data.logits.data() + (first + t * (p.experts + data.spec.gap) + e) * size_of(p.dtype), p.dtype);
    const Expected want = expected(p, logits);
    for (int k = 0; k < p.top_k; ++k) {
      const std::int64_t at = first + t * p.top_k + k;
      if (data.ids[at] != want.ids[k])
        return fmt::format("{}: token {} rank {}: expert {} instead of {}", data.spec.name, t, k, data.ids[at],
                           want.ids[k]);
      const double got = data.weights[at], w = want.weights[k];
      if (std::isnan(w) && std::isnan(got)) continue;
      // exp(x - m) has x - m's rounding, the exponential's, those of a sum of `experts` and of a division; what is
      // below 2^-126 may be taken as 0.
      const double bound = (w > 0 ? w * (want.below[k] + 16) * 0x1p-23 : 0) + 0x1p-126;
      if (!(std::abs(got - w) <= bound))
        return fmt::format("{}: token {} rank {}: weight {} instead of {} within {}", data.spec.name, t, k, got, w,
                           bound);
    }
  }
  return {};
}

std::vector<RouteCase> route_cases(DType dtype, int most) {
  constexpr struct {
    const char* name;
    Logits logits;
  } kKinds[] = {{"normal", Logits::kNormal},     {"ties", Logits::kTies},    {"equal", Logits::kEqual},
                {"shifted", Logits::kShifted},   {"steep", Logits::kSteep},  {"nan", Logits::kNan},
                {"infinite", Logits::kInfinite}, {"hidden", Logits::kHidden}};
  const struct {
    std::int64_t tokens;
    int experts, top_k;
  } shapes[] = {{9, most, 8}, {5, most, 16}, {7, most - 1, 4}, {3, 8, 2}, {2, 1, 1}, {4, 33, 16}, {6, most / 2 + 3, 1}};
  std::vector<RouteCase> cases;
  int i = 0;
  for (const auto& kind : kKinds)
    for (const auto& shape : shapes) {
      // Each kind meets all three routers, and rows with and without a gap.
      const Router router = i % 3 == 2 ? Router::kTopKSoftmax : Router::kSoftmax;
      const bool renormalize = i % 3 == 1;
      const std::int64_t gap = i % 2 ? 5 : 0;
      ++i;
      cases.push_back({.name = fmt::format("{} T{} E{} K{}{}{}", kind.name, shape.tokens, shape.experts, shape.top_k,
                                           router == Router::kTopKSoftmax ? " top-k first" : "",
                                           renormalize ? " renormalized" : ""),
                       .problem = {.dtype = dtype,
                                   .tokens = shape.tokens,
                                   .experts = shape.experts,
                                   .top_k = shape.top_k,
                                   .router = router,
                                   .renormalize = renormalize},
                       .logits = kind.logits,
                       .gap = gap});
    }
  return cases;
}

}  // namespace flashfit::reference
