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
    case Logits::kTiny:
      return 5 * x - 120;
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

/// A token of a router whose scores see one expert alone.
struct Scored {
  std::vector<double> scores, keys;

  Scored(const RouteProblem& p, const std::vector<double>& logits, const std::vector<float>& bias) {
    for (std::size_t e = 0; e < logits.size(); ++e) {
      const double x = logits[e];
      scores.push_back(p.router == Router::kSigmoid
                           ? 1 / (1 + std::exp(-x))
                           : std::sqrt(x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x))));
      // Without bias and groups, the order of logits is that of scores, and tells more.
      keys.push_back(p.biased ? scores[e] + static_cast<double>(bias[e]) : p.chooses_by_score() ? scores[e] : x);
    }
  }
  /// A NaN is larger than all else.
  static bool above(double a, double b, double margin) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
    return a > b + margin;
  }
  /// What a group is kept by.
  double of_group(const RouteProblem& p, int group) const {
    const auto each = static_cast<std::ptrdiff_t>(p.experts / p.groups);
    std::vector<double> mine(keys.begin() + group * each, keys.begin() + (group + 1) * each);
    std::sort(mine.begin(), mine.end(), [](double a, double b) { return above(a, b, 0); });
    return mine[0] + (each > 1 ? mine[1] : 0);
  }
};

/// What is wrong with one token's choice, or "": no kept group below one that is not, no chosen expert below one of a
/// kept group that is not, ranks that fall, weights of the chosen ones' scores. Where two keys differ by less than
/// fp32's rounding, either may be first; where they are equal, the lower id is.
std::string defect_of_scores(const RouteProblem& p, const Scored& token, const std::int32_t* ids,
                             const float* weights) {
  const double margin = p.chooses_by_score() ? 8 * 0x1p-24 * 32 : 0;
  const auto each = p.experts / p.groups;
  std::vector<bool> chosen(static_cast<std::size_t>(p.experts), false), used(static_cast<std::size_t>(p.groups), false);
  double sum = 0;
  for (int k = 0; k < p.top_k; ++k) {
    if (ids[k] < 0 || ids[k] >= p.experts || chosen[ids[k]]) return fmt::format("rank {}: expert {}", k, ids[k]);
    chosen[ids[k]] = true, used[ids[k] / each] = true, sum += token.scores[ids[k]];
    if (k == 0) continue;
    const double before = token.keys[ids[k - 1]], mine = token.keys[ids[k]];
    if (Scored::above(mine, before, margin) || (mine == before && ids[k] < ids[k - 1]))
      return fmt::format("rank {}: expert {} of {} follows {} of {}", k, ids[k], mine, ids[k - 1], before);
  }
  if (std::count(used.begin(), used.end(), true) > p.groups_kept) return "experts of more groups than are kept";
  // Which groups are kept is known where sums are apart; of ties the lower is, but sums of other numbers than their
  // neighbour's may be equal in fp64 alone.
  std::vector<int> order(static_cast<std::size_t>(p.groups));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return Scored::above(token.of_group(p, a), token.of_group(p, b), 0); });
  const double edge = token.of_group(p, order[p.groups_kept - 1]);
  const bool clear = p.groups_kept == p.groups ||
                     Scored::above(edge, token.of_group(p, order[p.groups_kept]), 2 * margin) ||
                     (!p.biased && token.of_group(p, order[p.groups_kept]) == edge);
  std::vector<bool> kept(static_cast<std::size_t>(p.groups), false);
  for (int i = 0; i < p.groups_kept; ++i) kept[order[i]] = true;
  const double last = token.keys[ids[p.top_k - 1]];
  for (int e = 0; clear && e < p.experts; ++e) {
    if (chosen[e] && !kept[e / each]) return fmt::format("expert {} of group {}, which is not kept", e, e / each);
    if (chosen[e] || !kept[e / each]) continue;
    if (Scored::above(token.keys[e], last, margin) || (token.keys[e] == last && e < ids[p.top_k - 1]))
      return fmt::format("expert {} of {} is left out", e, token.keys[e]);
  }
  for (int k = 0; k < p.top_k; ++k) {
    const double want = token.scores[ids[k]] / (p.renormalize ? sum + 1e-20 : 1) * static_cast<double>(p.scale);
    const double got = weights[k];
    if (std::isnan(want) && std::isnan(got)) continue;
    if (want == got) continue;  // infinities
    if (!(std::abs(got - want) <= std::abs(want) * 16 * 0x1p-24 + 0x1p-126))
      return fmt::format("rank {}: weight {} instead of {}", k, got, want);
  }
  return {};
}

}  // namespace

RouteCall RouteData::call() {
  return {.problem = spec.problem,
          .logits = logits.data() + kRedZone * size_of(spec.problem.dtype),
          .logits_row = spec.problem.experts + spec.gap,
          .weights = weights.data() + kRedZone,
          .ids = ids.data() + kRedZone,
          .bias = bias.empty() ? nullptr : bias.data()};
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
  RouteData data{.spec = spec, .logits = {}, .weights = {}, .ids = {}, .bias = {}};
  data.logits.assign(static_cast<std::size_t>(elements(spec) + 2 * RouteData::kRedZone) * size_of(p.dtype), kPoison);
  data.weights.assign(results, std::numeric_limits<float>::quiet_NaN());
  data.ids.assign(results, -1);
  Random random(1 + static_cast<std::uint64_t>(p.experts) * 1000 + static_cast<std::uint64_t>(spec.logits));
  for (std::int64_t t = 0; t < p.tokens; ++t)
    for (int e = 0; e < p.experts; ++e)
      store(data.logits.data() + (RouteData::kRedZone + t * (p.experts + spec.gap) + e) * size_of(p.dtype), p.dtype,
            logit(spec.logits, random, t, e));
  // Of many sizes and both signs, so that it decides some choices and not others; some are alike.
  if (p.biased)
    for (int e = 0; e < p.experts; ++e) data.bias.push_back(static_cast<float>(random.bits() % 64) / 64 - 0.5F);
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
    if (scores_alone(p.router)) {
      const std::string wrong = defect_of_scores(p, Scored(p, logits, data.bias), &data.ids[first + t * p.top_k],
                                                 &data.weights[first + t * p.top_k]);
      if (!wrong.empty()) return fmt::format("{}: token {} {}", data.spec.name, t, wrong);
      continue;
    }
    const Expected want = expected(p, logits);
    for (int k = 0; k < p.top_k; ++k) {
      const std::int64_t at = first + t * p.top_k + k;
      if (data.ids[at] != want.ids[k])
        return fmt::format("{}: token {} rank {}: expert {} instead of {}", data.spec.name, t, k, data.ids[at],
                           want.ids[k]);
      const double got = data.weights[at], w = want.weights[k] * static_cast<double>(p.scale);
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

std::vector<RouteCase> route_alone_cases(DType dtype, int most) {
  constexpr struct {
    const char* name;
    Logits logits;
  } kKinds[] = {{"normal", Logits::kNormal}, {"ties", Logits::kTies},      {"equal", Logits::kEqual},
                {"steep", Logits::kSteep},   {"nan", Logits::kNan},        {"infinite", Logits::kInfinite},
                {"hidden", Logits::kHidden}, {"shifted", Logits::kShifted}};
  const struct {
    std::int64_t tokens;
    int experts, top_k, groups, groups_kept;
  } shapes[] = {{9, most, 8, 8, 4}, {5, most, 16, 1, 1}, {7, most - 1, 4, 1, 1}, {3, 8, 2, 4, 1},
                {4, 12, 3, 12, 5},  {2, 1, 1, 1, 1},     {6, 160, 8, 4, 4},      {8, 60, 6, 3, 2}};
  std::vector<RouteCase> cases;
  int i = 0;
  for (const auto& kind : kKinds)
    for (const auto& shape : shapes) {
      RouteProblem p{.dtype = dtype,
                     .tokens = shape.tokens,
                     .experts = shape.experts,
                     .top_k = shape.top_k,
                     .router = i % 3 == 1 ? Router::kSqrtSoftplus : Router::kSigmoid,
                     .renormalize = i % 4 != 2,
                     .biased = i % 5 < 3,
                     .groups = shape.groups,
                     .groups_kept = shape.groups_kept,
                     .scale = i % 7 == 3 ? 2.5F : 1.0F};
      cases.push_back(
          {.name = fmt::format("{} T{} E{} K{} of {} of {} groups{}{}{}{}", kind.name, p.tokens, p.experts, p.top_k,
                               p.groups_kept, p.groups, p.router == Router::kSigmoid ? "" : " sqrt softplus",
                               p.renormalize ? " renormalized" : "", p.biased ? " biased" : "",
                               p.scale == 1 ? "" : " scaled"),
           .problem = p,
           .logits = kind.logits,
           .gap = i % 2 ? 5 : 0});
      ++i;
    }
  // Scores of 1 that fp32 cannot tell apart: experts are chosen by their logits.
  cases.push_back({.name = "steep, by logits alone",
                   .problem = {.dtype = dtype, .tokens = 6, .experts = most, .top_k = 8, .router = Router::kSigmoid},
                   .logits = Logits::kSteep});
  for (const bool renormalize : {false, true})
    cases.push_back({.name = fmt::format("tiny{} sqrt softplus", renormalize ? " renormalized" : ""),
                     .problem = {.dtype = dtype,
                                 .tokens = 6,
                                 .experts = most,
                                 .top_k = 8,
                                 .router = Router::kSqrtSoftplus,
                                 .renormalize = renormalize},
                     .logits = Logits::kTiny});
  return cases;
}

std::vector<RouteCase> route_gpu_cases(DType dtype, int most) {
  std::vector<RouteCase> cases = route_cases(dtype, most);
  cases[0].problem.scale = 2.5F;
  for (RouteCase& c : route_alone_cases(dtype, most))
    if (c.problem.experts <= most) cases.push_back(std::move(c));
  return cases;
}

}  // namespace flashfit::reference
