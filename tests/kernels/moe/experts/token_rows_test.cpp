// Rows of tokens gathered and added up alone, under the emulator, against fp64; and their plan.
#include "kernels/moe/experts/token_rows.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/every_image.hpp"
#include "kernels/moe/experts/token_rows_data.hpp"
#include "proof/reference/roundoff.hpp"
#include "runtime/images/catalogue.hpp"

namespace flashfit::testing {
namespace {

using emulated::EmulatedKernel;

TEST(TokenRows, AreGatheredToThePlacesOfTheirChoicesAlone) {
  for (const EmulatedKernel& kernel : emulated::emulated_experts_rows()) {
    TokenRowsData data(experts_rows_variant_of(kernel.variant).config.dtype);
    TokenRowsData::fill(data.tokens);
    const auto ran = data.run(kernel, true, false);
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(data.defect_of_gathered(), "");
  }
}

TEST(TokenRows, AreAddedUpWeighedOrNot) {
  for (const EmulatedKernel& kernel : emulated::emulated_experts_rows())
    for (const bool weighs : {false, true}) {
      TokenRowsData data(experts_rows_variant_of(kernel.variant).config.dtype);
      TokenRowsData::fill(data.rows);
      const auto ran = data.run(kernel, false, weighs);
      ASSERT_TRUE(ran) << ran.error().message;
      for (int t = 0; t < TokenRowsData::kTokens; ++t)
        for (int c = 0; c < TokenRowsData::kColumns; ++c) {
          double want = 0, size = 0;
          for (int k = 0; k < TokenRowsData::kTopK; ++k) {
            const auto i = static_cast<std::size_t>(t) * TokenRowsData::kTopK + static_cast<std::size_t>(k);
            if (data.places[i] < 0) continue;
            const double term = (weighs ? data.weights[i] : 1.0) * data.rows.get(0, data.places[i], c);
            want += term, size += std::abs(term);
          }
          const double rounding = reference::unit_roundoff(data.dtype);
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
