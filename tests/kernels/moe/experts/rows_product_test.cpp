// The grouped product alone under the emulator, by every product that a plan may take for it, against fp64; and its
// plan.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/every_image.hpp"
#include "kernels/moe/experts/rows_product_run.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emu/schedules.hpp"
#include "proof/emulated/experts.hpp"
#include "proof/reference/experts.hpp"
#include "proof/reference/roundoff.hpp"
#include "proof/reference/tensors.hpp"
#include "runtime/images/catalogue.hpp"

namespace flashfit::testing {
namespace {

using emulated::EmulatedKernel, reference::Grid;

/// A problem in memory: a of mean 1/2 and variance 1, w such that sums are about as large; out holds NaN.
struct Data {
  RowsProduct problem;
  std::vector<int> offsets;
  Grid a, w, out;

  Data(const RowsProduct& p, std::vector<int> begins)
      : problem(p),
        offsets(std::move(begins)),
        a(p.dtype, 1, p.rows, p.depth, 8),
        w(p.dtype, p.experts, p.transposed ? p.depth : p.outputs, p.transposed ? p.outputs : p.depth, 16),
        out(p.dtype, 1, p.rows, p.outputs) {
    reference::Random random(static_cast<std::uint64_t>(p.rows));
    for (std::int64_t r = 0; r < p.rows; ++r)
      for (int k = 0; k < p.depth; ++k) a.set(0, r, k, random.normal() + 0.5);
    for (std::int64_t e = 0; e < w.outer; ++e)
      for (std::int64_t i = 0; i < w.rows; ++i)
        for (std::int64_t k = 0; k < w.columns; ++k) w.set(e, i, k, random.normal() / std::sqrt(p.depth));
  }

  double weight(int expert, int output, int k) const {
    return problem.transposed ? w.get(expert, k, output) : w.get(expert, output, k);
  }

  /// What is wrong with out, or "".
  std::string defect() const {
    if (!out.poison_intact()) return "memory around out was written";
    const double rounding = reference::unit_roundoff(problem.dtype);
    for (std::int64_t r = 0; r < problem.rows; ++r) {
      int expert = -1;
      for (int e = 0; e < problem.experts; ++e)
        if (r >= offsets[e] && r < offsets[e + 1]) expert = e;
      for (int o = 0; o < problem.outputs; ++o) {
        const double got = out.get(0, r, o);
        double want = 0, size = 0;
        for (int k = 0; expert >= 0 && k < problem.depth; ++k) {
          const double term = a.get(0, r, k) * weight(expert, o, k);
          want += term, size += std::abs(term);
        }
        const double bound = rounding * std::abs(want) + size * (problem.depth + 4) * 0x1p-24;
        if (expert < 0 ? !std::isnan(got) : !(std::abs(got - want) <= bound))
          return "row " + std::to_string(r) + " output " + std::to_string(o) + ": " + std::to_string(got) +
                 " instead of " + std::to_string(want);
      }
    }
    return {};
  }
};

Result<emu::Stats> run(const EmulatedKernel& product, Data& data, const emu::Options& options) {
  emu::Memory memory;
  const RowsProductCall call = product_of(data, memory);
  return run_rows_product(product, call, 0, std::move(memory), options);
}

TEST(RowsProduct, IsRightByEveryProduct) {
  int tried = 0;
  for (const EmulatedKernel& product : emulated::emulated_experts_products()) {
    const ExpertsProductConfig& c = config_of(product);
    if (c.keeps) continue;  // no plan takes it
    for (const bool transposed : {false, true}) {
      if (c.engine == ExpertsEngine::kWgmma && transposed != c.transposed) continue;
      SCOPED_TRACE(product.variant.name + (transposed ? ", transposed" : ""));
      // Experts with none, with one, with more than a tile; rows before the first and after the last.
      const int large = c.tile_rows + 11, begin = 3 + large;
      Data data({.dtype = c.dtype,
                 .rows = begin + 9,
                 .experts = 5,
                 .depth = (c.stages + 1) * c.depth + 8,
                 .outputs = c.tile_columns + 24,
                 .transposed = transposed},
                {2, 2, 3, begin, begin, begin + 5});
      const auto ran = run(product, data, schedules()[static_cast<std::size_t>(tried) % schedules().size()]);
      ASSERT_TRUE(ran) << ran.error().message;
      EXPECT_EQ(data.defect(), "");
      ++tried;
    }
  }
  EXPECT_EQ(tried, 8 * 2 + 8);  // of each dtype four of mma.sync, which take both layouts, and four over wgmma
}

TEST(RowsProduct, IsTwoLaunchesByTheFormOfTheLayout) {
  const auto images = test::every_image(catalogue(), [](const KernelVariant&) { return 128; });
  const Gpu gpu = find_gpu("H200").value();
  RowsProduct p{.dtype = DType::kBF16, .rows = 100000, .experts = 8, .depth = 4096, .outputs = 1024};
  for (const bool transposed : {false, true}) {
    p.transposed = transposed;
    const auto plan = plan_rows_product(p, gpu, 0, images);
    ASSERT_TRUE(plan) << plan.error().message;
    const ExpertsProductConfig& c = experts_product_variant_of(*plan->product->variant).config;
    EXPECT_EQ(c.engine, ExpertsEngine::kWgmma);
    EXPECT_EQ(c.transposed, transposed);
    ASSERT_EQ(plan->steps.size(), 2u);
    EXPECT_EQ(plan->steps[0].image, plan->rows);
    EXPECT_EQ(plan->steps[0].grid.x, (100000 + kSortChunk - 1) / kSortChunk);
    EXPECT_EQ(plan->steps[1].image, plan->product);
    EXPECT_EQ(plan->steps[1].grid.x, gpu.sms);
  }
  p.rows = 0;
  EXPECT_EQ(plan_rows_product(p, gpu, 0, images)->steps.size(), 0u);
  EXPECT_EQ(rows_product_workspace(p), 0);
}

}  // namespace
}  // namespace flashfit::testing
