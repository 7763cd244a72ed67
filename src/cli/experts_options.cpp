#include "cli/experts_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <system_error>

#include "cli/options.hpp"
#include "cli/pick.hpp"
#include "cli/problem_options.hpp"

namespace flashfit::cli {
namespace {

template <class T>
struct Named {
  const char* name;
  T value;
};
constexpr Named<Activation> named(Activation a) { return {name_of(a), a}; }

constexpr Named<Activation> kActivations[] = {named(Activation::kSwiglu), named(Activation::kGegluTanh),
                                              named(Activation::kGegluErf), named(Activation::kSilu),
                                              named(Activation::kRelu2)};
constexpr Named<GateUp> kGateUps[] = {{"concatenated", GateUp::kConcatenated}, {"interleaved", GateUp::kInterleaved}};
constexpr Named<WeightOn> kWeightOns[] = {{"output", WeightOn::kOutput}, {"input", WeightOn::kInput}};

constexpr std::int64_t kMostFeatures = 1 << 20;  // of hidden and of intermediate
constexpr double kLargest = 1e30;

/// Adds an option that takes a number from `low` to kLargest, or of these but 0; anything else is wrong().
void add_number(CLI::App& app, const std::string& option, double& value, double low, bool zero,
                const std::string& help) {
  const auto set = [=, &value](const std::string& text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = error == std::errc{} && end == text.data() + text.size();
    const bool vanishes = number != 0 && static_cast<float>(number) == 0;  // and 0 is the default's name
    const bool accepted = is_number && number >= low && number <= kLargest && (number != 0 || zero) && !vanishes;
    if (!accepted)
      wrong(option, text,
            fmt::format("must be a number from {} to {}{}{}", low, kLargest, zero ? "" : ", and not 0",
                        vanishes ? " in fp32" : ""));
    value = number;
  };
  app.add_option_function<std::string>(option, set, help)->type_name("X");
}

}  // namespace

void ExpertsOptions::add_to(CLI::App& app) {
  app.add_option("--dtype", dtype, "of x, the weights and the result: fp16, bf16 (default) or fp32")->type_name("TYPE");
  add_whole_number(app, "--tokens", tokens, 0, 1 << 30, fmt::format("tokens (default {})", tokens));
  add_whole_number(app, "--experts", experts, 1, kMostExperts, fmt::format("experts (default {})", experts));
  add_whole_number(app, "--top-k", top_k, 1, kMostChosen, fmt::format("experts of a token (default {})", top_k));
  add_whole_number(app, "--hidden", hidden, 1, kMostFeatures, fmt::format("columns of x (default {})", hidden));
  add_whole_number(app, "--intermediate", intermediate, 1, kMostFeatures,
                   fmt::format("features between the products (default {})", intermediate));
  add_whole_number(app, "--experts-low", low, 0, kMostExperts, "the first expert whose weights are there (default 0)");
  add_whole_number(app, "--experts-high", high, 1, kMostExperts, "the one after the last (default --experts)");
  app.add_option("--activation", activation, "swiglu (default), geglu_tanh, geglu_erf, silu or relu2")
      ->type_name("NAME");
  add_number(app, "--alpha", alpha, -kLargest, false, "of swiglu (default 1)");
  add_number(app, "--limit", limit, 0, true, "of swiglu: clamps gate and up (default 0: does not)");
  add_number(app, "--shift", shift, -kLargest, true, "of swiglu: added to up (default 0)");
  app.add_option("--gate-up", gate_up, "how w13's outputs lie: concatenated (default) or interleaved")
      ->type_name("ORDER");
  app.add_option("--weight-on", weight_on, "what a token's weights multiply: output (default) or input")
      ->type_name("SIDE");
  app.add_flag("--transposed", transposed, "w13 is [experts, hidden, outputs], w2 [experts, intermediate, hidden]");
  app.add_flag("--b13", bias13, "the first product has a bias");
  app.add_flag("--b2", bias2, "the second product has a bias");
  app.add_flag("--keeping", keeping, "what comes before the activation is written too, as gradients need it");
}

ExpertsProblem ExpertsOptions::problem() const {
  constexpr std::int64_t kMostRows = std::numeric_limits<std::int32_t>::max();
  if (tokens > kMostRows / top_k)
    wrong("--tokens", std::to_string(tokens),
          fmt::format("must be at most {} with --top-k {}", kMostRows / top_k, top_k));
  const std::int64_t end = high < 0 ? experts : high;
  if (end > experts) wrong("--experts-high", std::to_string(end), fmt::format("must be at most --experts {}", experts));
  if (low >= end) wrong("--experts-low", std::to_string(low), fmt::format("must be less than --experts-high {}", end));
  ExpertsProblem p{.tokens = tokens,
                   .experts = static_cast<int>(experts),
                   .top_k = static_cast<int>(top_k),
                   .hidden = static_cast<int>(hidden),
                   .intermediate = static_cast<int>(intermediate),
                   .low = static_cast<int>(low),
                   .high = static_cast<int>(end)};
  p.dtype = parse_dtype("--dtype", dtype);
  p.activation = pick(kActivations, "--activation", activation).value;
  p.gate_up = pick(kGateUps, "--gate-up", gate_up).value;
  p.weight_on = pick(kWeightOns, "--weight-on", weight_on).value;
  const bool swiglu = p.activation == Activation::kSwiglu;
  if (!swiglu && (alpha != 1 || limit != 0 || shift != 0))
    wrong("--activation", activation, "must be swiglu with --alpha, --limit or --shift");
  if (p.gate_up == GateUp::kInterleaved && !has_gate(p.activation))
    wrong("--gate-up", gate_up,
          fmt::format("must be concatenated with --activation {}, which has no gate", activation));
  p.alpha = static_cast<float>(alpha), p.shift = static_cast<float>(shift);
  if (limit > 0) p.limit = static_cast<float>(limit);
  p.transposed = transposed, p.bias13 = bias13, p.bias2 = bias2, p.keeps = keeping;
  return p;
}

ExpertsProblem as_called(ExpertsProblem problem) {
  problem.experts = problem.high;
  return problem;
}

}  // namespace flashfit::cli
