#pragma once
// A case of the product that gives gradients of weights, and what is wrong with what a kernel made of it. Mutants bring
// kernels of their own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/moe/experts/weights/plan.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emu/schedules.hpp"
#include "proof/emu/tensor_map.hpp"
#include "proof/emulated/steps.hpp"
#include "proof/reference/experts.hpp"
#include "proof/reference/roundoff.hpp"
#include "proof/reference/tensors.hpp"

namespace flashfit::testing {

using reference::Grid;

/// A problem in memory: a and b of variance 1, with gaps between rows; out holds NaN.
struct WeightsData {
  WeightsProduct problem;
  std::vector<int> offsets;
  Grid a, b, out;

  WeightsData(const WeightsProduct& p, std::vector<int> begins)
      : problem(p),
        offsets(std::move(begins)),
        a(p.dtype, 1, p.rows, p.m, 8),
        b(p.dtype, 1, p.rows, p.n, 16),
        out(p.dtype, p.experts, p.m, p.n) {
    reference::Random random(static_cast<std::uint64_t>(p.rows));
    for (Grid* const x : {&a, &b})
      for (std::int64_t r = 0; r < p.rows; ++r)
        for (std::int64_t i = 0; i < x->columns; ++i) x->set(0, r, i, random.normal() + 0.25);
  }

  /// The rows of an expert that there are.
  std::pair<int, int> rows_of(int expert) const {
    const auto within = [&](int offset) { return std::min(std::max(offset, 0), static_cast<int>(problem.rows)); };
    const auto e = static_cast<std::size_t>(expert);
    return {within(offsets[e]), within(offsets[e + 1])};
  }

  /// NaN in the rows of one expert: it reaches no other.
  void poison(int expert) {
    const auto [begin, end] = rows_of(expert);
    for (Grid* const x : {&a, &b})
      for (int r = begin; r < end; ++r)
        for (std::int64_t i = 0; i < x->columns; ++i) x->set(0, r, i, std::numeric_limits<double>::quiet_NaN());
  }

  /// What is wrong with out, or "".
  std::string defect() const {
    if (!out.poison_intact()) return "memory around out was written";
    const double rounding = reference::unit_roundoff(problem.dtype);
    for (int e = 0; e < problem.experts; ++e) {
      const auto [begin, end] = rows_of(e);
      for (int i = 0; i < problem.m; ++i)
        for (int j = 0; j < problem.n; ++j) {
          double want = 0, size = 0;
          for (int r = begin; r < end; ++r) {
            const double term = a.get(0, r, i) * b.get(0, r, j);
            want += term, size += std::abs(term);
          }
          const double got = out.get(e, i, j);
          // At last half of the least fp16.
          const double bound = rounding * std::abs(want) + size * (end - begin + 4) * 0x1p-24 + 0x1p-25;
          if (std::isnan(want) ? !std::isnan(got) : !(std::abs(got - want) <= bound))
            return "expert " + std::to_string(e) + " element " + std::to_string(i) + ", " + std::to_string(j) + ": " +
                   std::to_string(got) + " instead of " + std::to_string(want);
        }
    }
    return {};
  }

  /// Both launches. `kernels`: the one whose list of tiles clears the counter, and the product.
  Result<emu::Stats> run(const emulated::EmulatedKernel& rows, const emulated::EmulatedKernel& product,
                         const emu::Options& options, std::int64_t resident = 3) {
    const emulated::EmulatedKernel kernels[] = {rows, product};
    alignas(256) unsigned char workspace[kWeightsProductWorkspace];
    std::fill(std::begin(workspace), std::end(workspace), 0xff);
    emu::Memory memory;
    memory.read_only("a", a.data(), a.size_in_bytes());
    memory.read_only("b", b.data(), b.size_in_bytes());
    memory.read_only("offsets", offsets.data(), offsets.size() * sizeof(int));
    memory.writable("out", out.data(), out.size_in_bytes());
    memory.writable("workspace", workspace, sizeof workspace);
    const Image rows_image = image_of(kernels[0]), product_image = image_of(kernels[1]);
    WeightsProductArguments arguments;
    const auto set = arguments.set(weights_product_variant_of(product.variant).config,
                                   {.problem = problem,
                                    .a = a.data(),
                                    .a_row = a.row_stride(),
                                    .b = b.data(),
                                    .b_row = b.row_stride(),
                                    .offsets = offsets.data(),
                                    .out = out.data(),
                                    .workspace = workspace},
                                   emu::encode_tensor_map);
    if (!set) return tl::unexpected(set.error());
    return emulated::run_steps(weights_product_steps(rows_image, product_image, problem, resident).all(),
                               arguments.all(), kernels, memory, options);
  }
};

/// The first defect of a kernel on its cases, or "". `rows`: of the same dtype.
inline std::string first_defect_of_weights(const emulated::EmulatedKernel& rows,
                                           const emulated::EmulatedKernel& product) {
  const WeightsProductConfig& c = weights_product_variant_of(product.variant).config;
  // Experts with none at both ends and in the middle, with one row, a multiple of 16, a whole slice, more slices than
  // stages; rows before the first and after the last.
  const int large = (c.stages + 1) * c.depth + 37, begin = 4 + 32 + c.depth, end = begin + large;
  const std::vector<int> ragged{3, 3, 4, 4 + 32, begin, begin, end, end + 5, end + 5};
  const int tiles = kWeightsStripe + 3;  // a stripe, and a lower one
  struct Case {
    const char* name;
    WeightsProduct problem;
    std::vector<int> offsets;
    std::vector<int> poisoned;
  };
  const std::vector<Case> cases{
      {"ragged experts", {c.dtype, end + 14, 8, c.tile_m + 72, c.tile_n + 40}, ragged, {}},
      {"NaN in experts", {c.dtype, 150, 4, 64, 64}, {0, 20, 100, 145, 150}, {1, 3}},
      {"stripes", {c.dtype, 20, 1, tiles * c.tile_m - 8, c.tile_n + 8}, {0, 20}, {}},
      {"offsets that fall", {c.dtype, 50, 4, 16, 8}, {-5, 7, 3, 60, 900}, {}},
      {"offsets beyond all rows", {c.dtype, 50, 4, 16, 8}, {2000000000, -2000000000, 5, 5, 40}, {}},
      {"no rows", {c.dtype, 0, 2, 8, 8}, {0, 0, 0}, {}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    WeightsData data(cases[i].problem, cases[i].offsets);
    for (const int expert : cases[i].poisoned) data.poison(expert);
    const auto orders = schedules();
    if (const auto ran = data.run(rows, product, orders[i % orders.size()]); !ran)
      return fmt::format("finding: {}: {}", cases[i].name, ran.error().message);
    if (const std::string defect = data.defect(); !defect.empty())
      return fmt::format("wrong {}: {}", cases[i].name, defect);
  }
  return {};
}

}  // namespace flashfit::testing
