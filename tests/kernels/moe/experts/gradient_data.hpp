#pragma once
// A call of the kernel of activations' gradients in memory, and what may be wrong with its results.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/moe/experts/gradient/params.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emu/schedules.hpp"
#include "proof/emulated/activation_gradient.hpp"
#include "proof/reference/experts_backward.hpp"
#include "proof/reference/roundoff.hpp"
#include "proof/reference/tensors.hpp"

namespace flashfit::testing {

using reference::Grid;

/// A call of `rows` rows, of which each third has no choice; choices lie in another order than rows.
struct GradientData {
  ExpertsProblem problem;
  bool interleaved, weighed, in_place;
  Grid z, dh, dz, h;
  std::vector<int> choices;
  std::vector<float> weights, dweights;

  GradientData(DType dtype, Activation activation, bool interleaved, bool weighed, bool in_place, int rows,
               int features)
      : interleaved(interleaved),
        weighed(weighed),
        in_place(in_place),
        z(dtype, 1, rows, features * (has_gate(activation) ? 2 : 1)),
        dh(dtype, 1, rows, features),
        dz(dtype, 1, rows, z.columns),
        h(dtype, 1, rows, features) {
    problem.dtype = dtype, problem.activation = activation;
    if (interleaved && activation == Activation::kSwiglu)
      problem.alpha = 1.702F, problem.limit = 1.5F, problem.shift = 1.F;
    reference::Random random(static_cast<std::uint64_t>(features));
    for (int r = 0; r < rows; ++r) {
      const bool none = r % 3 == 1;
      choices.push_back(none ? -1 - r : rows - 1 - r);
      weights.push_back(static_cast<float>(0.1 + random.uniform()));
      for (int c = 0; c < z.columns; ++c)
        z.set(0, r, c, none ? std::numeric_limits<double>::quiet_NaN() : 2 * random.normal());
      for (int c = 0; c < features; ++c)
        dh.set(0, r, c, none ? std::numeric_limits<double>::infinity() : random.normal());
    }
    dweights.assign(static_cast<std::size_t>(rows), -7.F);
  }

  Result<emu::Stats> run(const emulated::EmulatedKernel& kernel, const emu::Options& options) {
    const Grid given = dh;
    emu::Memory memory;
    const ActivationGradientParams params{.z = z.data(),
                                          .dh = dh.data(),
                                          .choices = choices.data(),
                                          .weights = weighed ? weights.data() : nullptr,
                                          .dz = dz.data(),
                                          .h = in_place ? dh.data() : h.data(),
                                          .dweights = weighed ? dweights.data() : nullptr,
                                          .rows = static_cast<int>(dh.rows),
                                          .features = static_cast<int>(dh.columns),
                                          .activation = problem.activation,
                                          .interleaved = interleaved,
                                          .alpha = problem.alpha,
                                          .limit = problem.limit,
                                          .shift = problem.shift};
    memory.read_only("z", z.data(), z.size_in_bytes());
    if (in_place)
      memory.writable("dh", dh.data(), dh.size_in_bytes());
    else
      memory.read_only("dh", dh.data(), dh.size_in_bytes());
    memory.read_only("choices", choices.data(), choices.size() * 4);
    memory.read_only("weights", weights.data(), weights.size() * 4);
    memory.writable("dz", dz.data(), dz.size_in_bytes());
    if (!in_place) memory.writable("h", h.data(), h.size_in_bytes());
    memory.writable("dweights", dweights.data(), dweights.size() * 4);
    auto ran = emulated::run(kernel, params, memory, options);
    if (in_place) h = dh, dh = given;
    return ran;
  }

  /// What is wrong, or "".
  std::string defect() const {
    const std::int64_t features = dh.columns;
    const bool gated = has_gate(problem.activation);
    const double unit = reference::unit_roundoff(problem.dtype);
    const auto far = [&](double got, double want, double size) {
      return !(std::abs(got - want) <= unit * std::abs(want) + size * 0x1p-19 + 0x1p-24);
    };
    if (!dz.poison_intact() || !h.poison_intact()) return "memory around was written";
    std::vector<bool> named(dweights.size(), false);
    for (std::int64_t r = 0; r < dh.rows; ++r) {
      const int choice = choices[r];
      const double w = choice < 0 || !weighed ? 1 : weights[choice];
      double sum = 0, size = 0;
      for (std::int64_t i = 0; i < features; ++i) {
        const std::int64_t gate_at = interleaved ? 2 * i : i, up_at = !gated        ? i
                                                                      : interleaved ? 2 * i + 1
                                                                                    : features + i;
        double want_h = 0, want_g = 0, want_u = 0, d = 0;
        if (choice >= 0) {
          const double g = gated ? z.get(0, r, i) : 0, u = z.get(0, r, gated ? features + i : i);
          const reference::Slopes slopes = reference::slopes_of(problem, g, u);
          d = dh.get(0, r, i), want_h = reference::activate(problem, g, u);
          want_g = w * d * slopes.g, want_u = w * d * slopes.u;
          sum += d * want_h, size += std::abs(d * want_h);
        }
        if (far(h.get(0, r, i), w * want_h, 4 * std::abs(w))) return fmt::format("h[{}, {}]", r, i);
        if (gated && far(dz.get(0, r, gate_at), want_g, 16 * std::abs(d)))
          return fmt::format("gate of dz[{}, {}]", r, i);
        if (far(dz.get(0, r, up_at), want_u, 16 * std::abs(d))) return fmt::format("up of dz[{}, {}]", r, i);
      }
      if (choice < 0 || !weighed) continue;
      named[choice] = true;
      if (far(dweights[choice], sum, 4 * size)) return fmt::format("dweights[{}]", choice);
    }
    for (std::size_t c = 0; c < named.size(); ++c)
      if (!named[c] && dweights[c] != -7.F) return fmt::format("dweights[{}] was written", c);
    return {};
  }
};

/// The first defect of a kernel on calls of every activation, or "".
inline std::string first_defect_of_gradients(const emulated::EmulatedKernel& kernel) {
  const DType dtype = kernel.variant.name.ends_with("fp16") ? DType::kF16 : DType::kBF16;
  int turn = 0;
  for (const Activation activation :
       {Activation::kSwiglu, Activation::kGegluTanh, Activation::kGegluErf, Activation::kSilu, Activation::kRelu2})
    for (const bool interleaved : {false, true})
      for (const bool weighed : {false, true}) {
        if (interleaved && !has_gate(activation)) continue;
        const int features = ++turn % 3 == 0 ? 8 : turn % 3 == 1 ? 256 : 344;
        GradientData data(dtype, activation, interleaved, weighed, turn % 2 == 0, turn % 4 == 1 ? 8 : 13, features);
        const std::string call = fmt::format("{}, interleaved {}, weighed {}, {} features", name_of(activation),
                                             interleaved, weighed, features);
        const auto orders = schedules();
        if (const auto ran = data.run(kernel, orders[static_cast<std::size_t>(turn) % orders.size()]); !ran)
          return fmt::format("finding: {}: {}", call, ran.error().message);
        if (const std::string defect = data.defect(); !defect.empty()) return fmt::format("wrong {}: {}", call, defect);
      }
  return {};
}

}  // namespace flashfit::testing
