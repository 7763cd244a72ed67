#include "proof/reference/experts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/half.hpp"
#include "proof/reference/roundoff.hpp"
#include "proof/reference/tensors.hpp"

namespace flashfit::reference {
namespace {

constexpr unsigned char kPoison = 0xff;  // NaN in every dtype
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// `x` as the dtype holds it.
double rounded(double x, DType dtype) {
  const auto single = static_cast<float>(x);
  if (dtype == DType::kF16) return to_float(from_float<f16>(single));
  if (dtype == DType::kBF16) return to_float(from_float<bf16>(single));
  return single;
}

/// What rounding a number moves it by at most: fp16's are 2^-24 apart below its least normal one.
double rounding(DType dtype, double value) {
  return std::max(unit_roundoff(dtype) * std::abs(value), dtype == DType::kF16 ? 0x1p-25 : 0.0);
}

/// The layout of a layer's weights: where an output's input lies.
struct Layer {
  const ExpertsData& data;
  const ExpertsProblem& p = data.spec.problem;

  double first(std::int64_t expert, std::int64_t output, std::int64_t input) const {
    return p.transposed ? data.w13.get(expert, input, output) : data.w13.get(expert, output, input);
  }
  double second(std::int64_t expert, std::int64_t output, std::int64_t input) const {
    return p.transposed ? data.w2.get(expert, input, output) : data.w2.get(expert, output, input);
  }
  std::int64_t gate(std::int64_t feature) const { return p.gate_up == GateUp::kInterleaved ? 2 * feature : feature; }
  std::int64_t up(std::int64_t feature) const {
    if (!has_gate(p.activation)) return feature;
    return p.gate_up == GateUp::kInterleaved ? 2 * feature + 1 : p.intermediate + feature;
  }
  double bias13(std::int64_t expert, std::int64_t output) const {
    return p.bias13 ? data.b13.get(expert, 0, output) : 0;
  }
  double bias2(std::int64_t expert, std::int64_t output) const { return p.bias2 ? data.b2.get(expert, 0, output) : 0; }
};

/// Calls body(token, choice, expert among the owned, weight) in order.
template <class Body>
void for_each_choice(const ExpertsData& data, Body body) {
  const ExpertsProblem& p = data.spec.problem;
  for (std::int64_t t = 0; t < p.tokens; ++t)
    for (int k = 0; k < p.top_k; ++k) {
      const std::int32_t id = data.ids[t * p.top_k + k];
      if (id >= p.low && id < p.high) body(t, id - p.low, static_cast<double>(data.weights[t * p.top_k + k]));
    }
}

struct Scale {
  double x = 1, mean = 0;
};

/// One token's number, before it is rounded.
double input(ExpertInputs kind, double normal, std::int64_t token, std::int64_t column) {
  switch (kind) {
    case ExpertInputs::kShifted:
      return normal + 2;
    case ExpertInputs::kScaled:
      return 8 * normal;
    case ExpertInputs::kRising:
      return std::ldexp(normal, static_cast<int>(token % 8) - 4);
    case ExpertInputs::kNanTokens:
      if (token % 5 == 1 && column % 7 == 3) return column % 2 ? kNan : -kNan;
      if (token % 5 == 3 && column == 0) return kInfinity;
      return normal;
    default:
      return normal;
  }
}

void fill_weights(Grid& grid, Random& random, double scale, double mean) {
  for (std::int64_t e = 0; e < grid.outer; ++e)
    for (std::int64_t r = 0; r < grid.rows; ++r)
      for (std::int64_t c = 0; c < grid.columns; ++c) grid.set(e, r, c, scale * (random.normal() + mean));
}

std::int32_t choice(Choices kind, const ExpertsProblem& p, Random& random, std::int64_t token, int k,
                    const std::int32_t* before) {
  const auto any = [&](int experts) {
    return static_cast<std::int32_t>(random.bits() % static_cast<unsigned>(experts));
  };
  switch (kind) {
    case Choices::kRandom:
      for (;;) {
        const std::int32_t id = any(p.experts);
        if (std::find(before, before + k, id) == before + k) return id;
      }
    case Choices::kSame:
      return p.low + (p.owned() - 1) / 2;
    case Choices::kRepeated:
      return any(p.experts);
    case Choices::kSkewed:
      return token % 9 == 4 ? any(p.experts) : any((p.experts + 1) / 2);
    case Choices::kForeign: {
      const std::int32_t far[] = {-1, p.experts, 1 << 30, std::numeric_limits<std::int32_t>::min()};
      return random.bits() % 3 == 0 ? far[random.bits() % 4] : any(p.experts);
    }
  }
  return 0;
}

}  // namespace

Grid::Grid(DType dtype, std::int64_t outer, std::int64_t rows, std::int64_t columns, std::int64_t gap)
    : dtype(dtype), outer(outer), rows(rows), columns(columns), gap(gap) {
  bytes.assign(static_cast<std::size_t>(outer * outer_stride() + 2 * kRedZone) * size_of(dtype), kPoison);
}

unsigned char* Grid::at(std::int64_t o, std::int64_t row, std::int64_t column) {
  return bytes.data() + (kRedZone + o * outer_stride() + row * row_stride() + column) * size_of(dtype);
}

double Grid::get(std::int64_t o, std::int64_t row, std::int64_t column) const {
  const unsigned char* from = const_cast<Grid*>(this)->at(o, row, column);
  const auto read = [&]<class T>(T value) {
    std::memcpy(&value, from, sizeof value);
    return static_cast<double>(to_float(value));
  };
  if (dtype == DType::kF16) return read(f16{});
  if (dtype == DType::kBF16) return read(bf16{});
  return read(float{});
}

void Grid::set(std::int64_t o, std::int64_t row, std::int64_t column, double value) {
  unsigned char* to = at(o, row, column);
  const auto put = [&](auto element) { std::memcpy(to, &element, sizeof element); };
  const auto single = static_cast<float>(value);
  if (dtype == DType::kF16)
    put(from_float<f16>(single));
  else if (dtype == DType::kBF16)
    put(from_float<bf16>(single));
  else
    put(single);
}

std::size_t Grid::size_in_bytes() const {
  const std::int64_t elements = outer * outer_stride() - (outer * rows > 0 ? gap : 0);
  return static_cast<std::size_t>(elements) * size_of(dtype);
}

bool Grid::poison_intact() const {
  const auto step = static_cast<std::size_t>(size_of(dtype));
  const std::int64_t elements = static_cast<std::int64_t>(bytes.size() / step);
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::int64_t inside = i - kRedZone;
    const bool owned = inside >= 0 && inside < outer * outer_stride() && inside % row_stride() < columns;
    if (owned) continue;
    for (std::size_t b = 0; b < step; ++b)
      if (bytes[static_cast<std::size_t>(i) * step + b] != kPoison) return false;
  }
  return true;
}

ExpertsCall ExpertsData::call() {
  const ExpertsProblem& p = spec.problem;
  return {.problem = p,
          .x = x.data(),
          .x_row = x.row_stride(),
          .w13 = w13.data(),
          .w13_expert = w13.outer_stride(),
          .w13_row = w13.row_stride(),
          .w2 = w2.data(),
          .w2_expert = w2.outer_stride(),
          .w2_row = w2.row_stride(),
          .b13 = p.bias13 ? b13.data() : nullptr,
          .b13_expert = p.bias13 ? b13.outer_stride() : 0,
          .b2 = p.bias2 ? b2.data() : nullptr,
          .b2_expert = p.bias2 ? b2.outer_stride() : 0,
          .topk_ids = ids.data(),
          .topk_weights = weights.data(),
          .out = out.data(),
          .out_row = out.row_stride(),
          .z = p.keeps ? z.data() : nullptr};
}

ExpertsData make_data(const ExpertsCase& spec) {
  const ExpertsProblem& p = spec.problem;
  Random random(1 + static_cast<std::uint64_t>(p.hidden) * 1000 + static_cast<std::uint64_t>(p.tokens) * 10 +
                static_cast<std::uint64_t>(spec.inputs));
  const std::int64_t outputs = p.first_outputs();
  ExpertsData data{.spec = spec,
                   .x = Grid(p.dtype, 1, p.tokens, p.hidden, spec.gap),
                   .w13 = {},
                   .w2 = {},
                   .b13 = {},
                   .b2 = {},
                   .out = Grid(p.dtype, 1, p.tokens, p.hidden, spec.gap),
                   .z = p.keeps ? Grid(p.dtype, 1, p.rows() + p.owned(), outputs) : Grid{},
                   .ids = {},
                   .weights = {}};
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    return p.transposed ? Grid(p.dtype, p.owned(), columns, rows, spec.gap)
                        : Grid(p.dtype, p.owned(), rows, columns, spec.gap);
  };
  data.w13 = matrix(outputs, p.hidden), data.w2 = matrix(p.hidden, p.intermediate);
  const double mean = spec.inputs == ExpertInputs::kShifted ? 0.5 : 0;
  for (std::int64_t t = 0; t < p.tokens; ++t)
    for (std::int64_t c = 0; c < p.hidden; ++c) data.x.set(0, t, c, input(spec.inputs, random.normal(), t, c));
  fill_weights(data.w13, random, 1 / std::sqrt(p.hidden), mean);
  fill_weights(data.w2, random, 1 / std::sqrt(p.intermediate), mean);
  const double bias = spec.inputs == ExpertInputs::kScaled ? 8 : 1;
  if (p.bias13) fill_weights(data.b13 = Grid(p.dtype, p.owned(), 1, outputs), random, bias, mean);
  if (p.bias2) fill_weights(data.b2 = Grid(p.dtype, p.owned(), 1, p.hidden), random, bias, mean);
  std::vector<bool> chosen(static_cast<std::size_t>(p.experts), false);
  for (std::int64_t t = 0; t < p.tokens; ++t) {
    std::int32_t mine[kMostChosen];
    for (int k = 0; k < p.top_k; ++k) {
      mine[k] = choice(spec.choices, p, random, t, k, mine);
      const bool owned = mine[k] >= p.low && mine[k] < p.high;
      if (owned) chosen[mine[k]] = true;
      const bool nan = spec.inputs == ExpertInputs::kNanOfNoChoice && !owned;
      data.ids.push_back(mine[k]);
      data.weights.push_back(nan ? static_cast<float>(kNan) : static_cast<float>(0.1 + random.uniform()));
    }
  }
  for (int e = 0; e < p.owned(); ++e) {
    if (spec.inputs == ExpertInputs::kNanExpert && e == p.owned() / 2) data.w13.set(e, 0, 0, kNan);
    if (spec.inputs != ExpertInputs::kNanOfNoChoice || chosen[p.low + e]) continue;
    for (Grid* grid : {&data.w13, &data.w2, &data.b13, &data.b2})
      for (std::int64_t r = 0; r < grid->rows; ++r)
        for (std::int64_t c = 0; c < grid->columns; ++c) grid->set(e, r, c, kNan);
  }
  return data;
}

double activate(const ExpertsProblem& p, double g, double u) {
  const auto at_most = [](double x, double limit) { return x > limit ? limit : x; };  // NaN stays
  switch (p.activation) {
    case Activation::kSwiglu: {
      const double limit = p.limit, gate = at_most(g, limit);
      const double up = -at_most(-at_most(u, limit), limit);
      return gate / (1 + std::exp(-static_cast<double>(p.alpha) * gate)) * (up + p.shift);
    }
    case Activation::kGegluTanh:
      return 0.5 * g * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (g + 0.044715 * g * g * g))) * u;
    case Activation::kGegluErf:
      return 0.5 * g * std::erfc(-g * std::sqrt(0.5)) * u;
    case Activation::kSilu:
      return u / (1 + std::exp(-u));
    case Activation::kRelu2:
      return u < 0 ? 0 : u * u;
  }
  return 0;
}

ExpertsResult expected_experts(const ExpertsData& data) {
  const Layer layer{data};
  const ExpertsProblem& p = layer.p;
  const auto elements = static_cast<std::size_t>(p.tokens * p.hidden);
  ExpertsResult result{std::vector<double>(elements, 0), std::vector<double>(elements, 0)};
  std::vector<double> h(static_cast<std::size_t>(p.intermediate));
  for_each_choice(data, [&](std::int64_t t, std::int64_t e, double weight) {
    const bool on_input = p.weight_on == WeightOn::kInput;
    for (std::int64_t i = 0; i < p.intermediate; ++i) {
      double g = 0, u = 0;
      for (std::int64_t c = 0; c < p.hidden; ++c) {
        const double x = data.x.get(0, t, c) * (on_input ? weight : 1);
        if (has_gate(p.activation)) g += x * layer.first(e, layer.gate(i), c);
        u += x * layer.first(e, layer.up(i), c);
      }
      if (has_gate(p.activation)) g += layer.bias13(e, layer.gate(i));
      h[i] = activate(p, g, u + layer.bias13(e, layer.up(i)));
    }
    for (std::int64_t c = 0; c < p.hidden; ++c) {
      double y = layer.bias2(e, c), size = std::abs(y);
      for (std::int64_t i = 0; i < p.intermediate; ++i) {
        const double term = h[i] * layer.second(e, c, i);
        y += term, size += std::abs(term);
      }
      result.out[t * p.hidden + c] += y * (on_input ? 1 : weight);
      result.size[t * p.hidden + c] += size * std::abs(on_input ? 1 : weight);
    }
  });
  return result;
}

std::vector<double> naive_experts(const ExpertsData& data) {
  const Layer layer{data};
  const ExpertsProblem& p = layer.p;
  const auto round = [&](double x) { return rounded(x, p.dtype); };
  std::vector<float> sums(static_cast<std::size_t>(p.tokens * p.hidden), 0);
  std::vector<float> h(static_cast<std::size_t>(p.intermediate));
  for_each_choice(data, [&](std::int64_t t, std::int64_t e, double weight) {
    const bool on_input = p.weight_on == WeightOn::kInput;
    const auto output = [&](std::int64_t row) {
      float sum = 0;
      for (std::int64_t c = 0; c < p.hidden; ++c) {
        const double x = data.x.get(0, t, c);
        sum += static_cast<float>(on_input ? round(x * weight) : x) * static_cast<float>(layer.first(e, row, c));
      }
      return round(round(sum) + layer.bias13(e, row));
    };
    for (std::int64_t i = 0; i < p.intermediate; ++i) {
      const double g = has_gate(p.activation) ? output(layer.gate(i)) : 0, u = output(layer.up(i));
      // An activation of u = 1 is the gate's part, which frameworks round before they multiply.
      const double up =
          p.activation == Activation::kSwiglu ? -std::min<double>(-std::min<double>(u, p.limit), p.limit) + p.shift : u;
      ExpertsProblem gate_alone = p;
      gate_alone.limit = std::numeric_limits<float>::infinity(), gate_alone.shift = 0;
      const double gate = p.activation == Activation::kSwiglu ? std::min<double>(g, p.limit) : g;
      h[i] = static_cast<float>(has_gate(p.activation) ? round(round(activate(gate_alone, gate, 1)) * round(up))
                                                       : round(activate(p, g, u)));
    }
    for (std::int64_t c = 0; c < p.hidden; ++c) {
      float y = 0;
      for (std::int64_t i = 0; i < p.intermediate; ++i) y += h[i] * static_cast<float>(layer.second(e, c, i));
      const double biased = round(round(y) + layer.bias2(e, c));
      sums[t * p.hidden + c] += static_cast<float>(biased * (on_input ? 1 : weight));
    }
  });
  std::vector<double> out(sums.size());
  std::transform(sums.begin(), sums.end(), out.begin(), [&](float x) { return round(x); });
  return out;
}

namespace {

/// What is wrong with z, or "".
std::string defect_of_kept(const ExpertsData& data) {
  const Layer layer{data};
  const ExpertsProblem& p = layer.p;
  if (!data.z.poison_intact()) return data.spec.name + ": memory around z was written";
  std::vector<std::int64_t> next(static_cast<std::size_t>(p.owned()) + 1, 0);  // the row before each expert's choices
  for_each_choice(data, [&](std::int64_t, std::int64_t e, double) { ++next[e + 1]; });
  for (int e = 0; e < p.owned(); ++e) next[e + 1] += next[e] + 1;
  std::vector<bool> written(static_cast<std::size_t>(data.z.rows), false);
  std::string defect;
  for_each_choice(data, [&](std::int64_t t, std::int64_t e, double weight) {
    const std::int64_t row = ++next[e];
    written[row] = true;
    for (std::int64_t column = 0; column < data.z.columns && defect.empty(); ++column) {
      const bool is_gate = has_gate(p.activation) && column < p.intermediate;
      const std::int64_t output =
          is_gate ? layer.gate(column) : layer.up(has_gate(p.activation) ? column - p.intermediate : column);
      double want = layer.bias13(e, output), size = std::abs(want);
      for (std::int64_t c = 0; c < p.hidden; ++c) {
        const double term =
            data.x.get(0, t, c) * layer.first(e, output, c) * (p.weight_on == WeightOn::kInput ? weight : 1);
        want += term, size += std::abs(term);
      }
      const double got = data.z.get(0, row, column);
      const double bound = rounding(p.dtype, want) + size * static_cast<double>(p.hidden + 4) * 0x1p-24;
      if (std::isfinite(got) != std::isfinite(want) || std::abs(got - want) > bound)
        defect =
            fmt::format("{}: z[{}, {}] of token {} is {} instead of {}", data.spec.name, row, column, t, got, want);
    }
  });
  for (std::int64_t row = 0; row < data.z.rows && defect.empty(); ++row)
    for (std::int64_t column = 0; column < data.z.columns && !written[row]; ++column)
      if (!std::isnan(data.z.get(0, row, column))) defect = fmt::format("{}: z[{}] was written", data.spec.name, row);
  return defect;
}

}  // namespace

std::string defect_of(const ExpertsData& data) { return defect_of(data, ExpertsAnswer(data)); }

std::string defect_of(const ExpertsData& data, const ExpertsAnswer& answer) {
  const ExpertsProblem& p = data.spec.problem;
  const auto& [want, naive] = answer;
  if (!data.out.poison_intact()) return data.spec.name + ": memory around out was written";
  if (p.keeps)
    if (std::string defect = defect_of_kept(data); !defect.empty()) return defect;
  double worst = 0, naive_worst = 0, got_there = 0, want_there = 0;
  std::int64_t where = 0;
  for (std::int64_t t = 0; t < p.tokens; ++t) {
    double size = 0;
    for (std::int64_t c = 0; c < p.hidden; ++c) {
      const double of_element = want.size[t * p.hidden + c];
      if (std::isfinite(of_element)) size = std::max(size, of_element);
    }
    for (std::int64_t c = 0; c < p.hidden; ++c) {
      const std::int64_t i = t * p.hidden + c;
      const double got = data.out.get(0, t, c);
      if (std::isfinite(got) != std::isfinite(want.out[i]))
        return fmt::format("{}: token {} column {}: {} instead of {}", data.spec.name, t, c, got, want.out[i]);
      if (!std::isfinite(got)) continue;
      if (size == 0) {
        if (got != 0) return fmt::format("{}: token {} column {}: {} instead of 0", data.spec.name, t, c, got);
        continue;
      }
      if (std::isfinite(naive[i])) naive_worst = std::max(naive_worst, std::abs(naive[i] - want.out[i]) / size);
      const double error = std::abs(got - want.out[i]) / size;
      if (error <= worst) continue;
      worst = error, where = i, got_there = got, want_there = want.out[i];
    }
  }
  const double bound = 2 * naive_worst + unit_roundoff(p.dtype) + 4 * 0x1p-24;
  if (worst <= bound) return {};
  return fmt::format("{}: token {} column {}: {} instead of {}: {:.3g} of the token's size, accepted {:.3g}",
                     data.spec.name, where / p.hidden, where % p.hidden, got_there, want_there, worst, bound);
}

std::vector<ExpertsCase> experts_cases(DType dtype, int most_hidden) {
  constexpr float kNoLimit = std::numeric_limits<float>::infinity();
  constexpr struct {
    const char* name;
    Activation kind;
    float alpha, limit, shift;
  } kActivations[] = {
      {"swiglu", Activation::kSwiglu, 1, kNoLimit, 0},      {"gpt_oss", Activation::kSwiglu, 1.702F, 7, 1},
      {"clamped at 1", Activation::kSwiglu, 1, 1, 0},       {"geglu_tanh", Activation::kGegluTanh, 1, kNoLimit, 0},
      {"geglu_erf", Activation::kGegluErf, 1, kNoLimit, 0}, {"silu", Activation::kSilu, 1, kNoLimit, 0},
      {"relu2", Activation::kRelu2, 1, kNoLimit, 0}};
  constexpr struct {
    const char* name;
    ExpertInputs kind;
  } kInputs[] = {{"normal", ExpertInputs::kNormal},
                 {"shifted", ExpertInputs::kShifted},
                 {"scaled", ExpertInputs::kScaled},
                 {"rising", ExpertInputs::kRising},
                 {"NaN tokens", ExpertInputs::kNanTokens},
                 {"NaN expert", ExpertInputs::kNanExpert},
                 {"NaN of no choice", ExpertInputs::kNanOfNoChoice}};
  constexpr struct {
    const char* name;
    Choices kind;
  } kChoices[] = {{"random", Choices::kRandom},
                  {"same", Choices::kSame},
                  {"repeated", Choices::kRepeated},
                  {"skewed", Choices::kSkewed},
                  {"foreign", Choices::kForeign}};
  const struct {
    std::int64_t tokens;
    int experts, top_k, hidden, intermediate;
  } shapes[] = {{33, 8, 2, 64, 32},  {7, 16, 4, most_hidden, 48}, {1, 5, 3, 40, 24},
                {50, 3, 1, 24, 104}, {0, 4, 2, 32, 32},           {18, 64, 16, 72, 8}};
  std::vector<ExpertsCase> cases;
  int i = 0;
  for (const auto& inputs : kInputs)
    for (const auto& choices : kChoices)
      for (const auto& shape : shapes) {
        const auto& activation = kActivations[i % 7];
        // Steps that share no divisor with the loops' lengths, so that each kind meets each layout.
        const bool interleaved = i / 3 % 2, transposed = i / 2 % 2, biased = i % 3 == 1, on_input = i % 11 == 5;
        const bool part = choices.kind == Choices::kForeign || i % 13 == 7;
        ++i;
        ExpertsProblem p{
            .dtype = dtype,
            .tokens = shape.tokens,
            .experts = shape.experts,
            .top_k = shape.top_k,
            .hidden = std::min(shape.hidden, most_hidden),
            .intermediate = shape.intermediate,
            .low = part ? shape.experts / 3 : 0,
            .high = part ? shape.experts - shape.experts / 4 : shape.experts,
            .activation = activation.kind,
            .alpha = activation.alpha,
            .limit = activation.limit,
            .shift = activation.shift,
            .gate_up = interleaved && has_gate(activation.kind) ? GateUp::kInterleaved : GateUp::kConcatenated,
            .transposed = transposed,
            .bias13 = biased || i % 7 == 2,
            .bias2 = biased,
            .weight_on = on_input ? WeightOn::kInput : WeightOn::kOutput};
        cases.push_back({.name = fmt::format("{} {} {} T{} E{} of {} K{} H{} I{}{}{}{}{}{}", inputs.name, choices.name,
                                             activation.name, p.tokens, p.owned(), p.experts, p.top_k, p.hidden,
                                             p.intermediate, p.gate_up == GateUp::kInterleaved ? " interleaved" : "",
                                             transposed ? " transposed" : "", p.bias13 ? " b13" : "",
                                             p.bias2 ? " b2" : "", on_input ? " on input" : ""),
                         .problem = p,
                         .inputs = inputs.kind,
                         .choices = choices.kind,
                         .gap = i % 2 ? 8 : 0});
      }
  return cases;
}

}  // namespace flashfit::reference
