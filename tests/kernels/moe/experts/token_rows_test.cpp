// Rows of tokens gathered and added up alone, under the emulator, against fp64; and their plan.
#include "kernels/moe/experts/token_rows.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/every_image.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emu/schedules.hpp"
#include "proof/emulated/experts.hpp"
#include "proof/emulated/steps.hpp"
#include "proof/reference/experts.hpp"
#include "proof/reference/tensors.hpp"
#include "runtime/images/catalogue.hpp"

namespace flashfit::testing {
namespace {

using emulated::EmulatedKernel, reference::Grid;

constexpr int kTokens = 7, kTopK = 9, kColumns = 24, kRows = kTokens * kTopK + 5;  // more choices than wait together

/// Tokens with a gap between rows, and NaN in what is to be written and in rows that no choice has.
struct Data {
  DType dtype;
  std::vector<int> places;
  std::vector<float> weights;
  Grid tokens, rows;

  explicit Data(DType t) : dtype(t), tokens(t, 1, kTokens, kColumns, 8), rows(t, 1, kRows, kColumns) {
    std::vector<int> order(kRows);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(3));
    reference::Random random(4);
    for (int i = 0; i < kTokens * kTopK; ++i) {
      places.push_back(i % 5 == 3 ? -1 - i : order[static_cast<std::size_t>(i)]);
      weights.push_back(static_cast<float>(random.normal()));
    }
  }

  void fill(Grid& grid) {
    reference::Random random(5);
    for (std::int64_t r = 0; r < grid.rows; ++r)
      for (int c = 0; c < kColumns; ++c) grid.set(0, r, c, random.normal());
  }

  Result<emu::Stats> run(const EmulatedKernel& kernel, bool gathers, bool weighs) {
    emu::Memory memory;
    memory.read_only("places", places.data(), places.size() * sizeof(int));
    memory.read_only("weights", weights.data(), weights.size() * sizeof(float));
    Grid &from = gathers ? tokens : rows, &to = gathers ? rows : tokens;
    memory.read_only("from", from.data(), from.size_in_bytes());
    memory.writable("to", to.data(), to.size_in_bytes());
    const TokenRowsCall call{.problem = {.dtype = dtype, .tokens = kTokens, .top_k = kTopK, .columns = kColumns},
                             .places = places.data(),
                             .tokens = tokens.data(),
                             .tokens_row = tokens.row_stride(),
                             .rows = rows.data(),
                             .weights = weighs ? weights.data() : nullptr};
    const ExpertsRowsParams params = gathers ? gather_params(call) : sum_params(call);
    const void* const all[] = {&params};
    const Image image = image_of(kernel);
    return emulated::run_steps(token_rows_steps(image, call.problem).all(), all, {&kernel, 1}, memory,
                               schedules().front());
  }
};

TEST(TokenRows, AreGatheredToThePlacesOfTheirChoicesAlone) {
  for (const EmulatedKernel& kernel : emulated::emulated_experts_rows()) {
    Data data(experts_rows_variant_of(kernel.variant).config.dtype);
    data.fill(data.tokens);
    const auto ran = data.run(kernel, true, false);
    ASSERT_TRUE(ran) << ran.error().message;
    std::vector<int> of(kRows, -1);
    for (int i = 0; i < kTokens * kTopK; ++i)
      if (const int place = data.places[static_cast<std::size_t>(i)]; place >= 0)
        of[static_cast<std::size_t>(place)] = i / kTopK;
    for (int r = 0; r < kRows; ++r)
      for (int c = 0; c < kColumns; ++c) {
        const double got = data.rows.get(0, r, c);
        const int token = of[static_cast<std::size_t>(r)];
        if (token < 0)
          EXPECT_TRUE(std::isnan(got)) << r;
        else
          EXPECT_EQ(got, data.tokens.get(0, token, c)) << r;
      }
    EXPECT_TRUE(data.rows.poison_intact());
  }
}

TEST(TokenRows, AreAddedUpWeighedOrNot) {
  for (const EmulatedKernel& kernel : emulated::emulated_experts_rows())
    for (const bool weighs : {false, true}) {
      Data data(experts_rows_variant_of(kernel.variant).config.dtype);
      data.fill(data.rows);
      const auto ran = data.run(kernel, false, weighs);
      ASSERT_TRUE(ran) << ran.error().message;
      for (int t = 0; t < kTokens; ++t)
        for (int c = 0; c < kColumns; ++c) {
          double want = 0, size = 0;
          for (int k = 0; k < kTopK; ++k) {
            const auto i = static_cast<std::size_t>(t) * kTopK + static_cast<std::size_t>(k);
            if (data.places[i] < 0) continue;
            const double term = (weighs ? data.weights[i] : 1.0) * data.rows.get(0, data.places[i], c);
            want += term, size += std::abs(term);
          }
          const double rounding = data.dtype == DType::kF16 ? 0x1p-11 : 0x1p-8;
          EXPECT_NEAR(data.tokens.get(0, t, c), want, rounding * std::abs(want) + size * 0x1p-20) << t << ' ' << c;
        }
      EXPECT_TRUE(data.tokens.poison_intact());
    }
}

TEST(TokenRows, TakeTheImageOfTheirDtypeOnEveryGpuThatHasOne) {
  const auto images = test::every_image(catalogue(), [](const KernelVariant&) { return 64; });
  for (const char* name : {"H200", "L4"}) {
    const auto image = plan_token_rows(DType::kF16, find_gpu(name).value(), 0, images);
    ASSERT_TRUE(image) << image.error().message;
    EXPECT_EQ((*image)->variant->name, "experts_rows_fp16");
  }
  const auto none = plan_token_rows(DType::kBF16, find_gpu("T4").value(), 0, images);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kMisfit);
  EXPECT_NE(none.error().message.find("rows of tokens in bf16"), std::string::npos) << none.error().message;
  EXPECT_EQ(token_rows_steps(images.front(), {.dtype = DType::kF16, .tokens = 0, .top_k = 2, .columns = 8}).size(), 0u);
}

}  // namespace
}  // namespace flashfit::testing
