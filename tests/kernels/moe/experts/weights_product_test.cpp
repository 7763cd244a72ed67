// Gradients of weights under the emulator, against fp64; and their plan.
#include "proof/emulated/weights_product.hpp"

#include <gtest/gtest.h>

#include "kernels/every_image.hpp"
#include "kernels/moe/experts/variants.hpp"
#include "kernels/moe/experts/weights_data.hpp"
#include "proof/emu/schedules.hpp"
#include "proof/emulated/experts.hpp"
#include "runtime/images/catalogue.hpp"

namespace flashfit::testing {
namespace {

using emulated::EmulatedKernel;

const WeightsProductConfig& config_of(const EmulatedKernel& kernel) {
  return weights_product_variant_of(kernel.variant).config;
}

const EmulatedKernel& rows_of(DType dtype) {
  for (const EmulatedKernel& kernel : emulated::emulated_experts_rows())
    if (experts_rows_variant_of(kernel.variant).config.dtype == dtype) return kernel;
  std::abort();
}

TEST(WeightsProduct, IsRightByEveryVariant) {
  ASSERT_EQ(emulated::emulated_weights_products().size(), 2u);
  for (const EmulatedKernel& kernel : emulated::emulated_weights_products())
    EXPECT_EQ(first_defect_of_weights(rows_of(config_of(kernel).dtype), kernel), "") << kernel.variant.name;
}

TEST(WeightsProduct, HasTheSameBitsUnderEverySchedule) {
  const EmulatedKernel& kernel = emulated::emulated_weights_products().front();
  const WeightsProductConfig& c = config_of(kernel);
  std::vector<unsigned char> first;
  for (const emu::Options& options : schedules()) {
    WeightsData data({.dtype = c.dtype, .rows = 700, .experts = 5, .m = 200, .n = 128}, {0, 1, 90, 90, 600, 700});
    const auto ran = data.run(rows_of(c.dtype), kernel, options, 2);
    ASSERT_TRUE(ran) << ran.error().message;
    if (first.empty()) first = data.out.bytes;
    EXPECT_EQ(data.out.bytes, first);
  }
}

TEST(WeightsProduct, IsTwoLaunchesOnHopperAlone) {
  const auto images = test::every_image(catalogue(), [](const KernelVariant&) { return 168; });
  WeightsProduct p{.dtype = DType::kBF16, .rows = 100000, .experts = 128, .m = 1536, .n = 2048};
  const Gpu gpu = find_gpu("H200").value();
  const auto plan = plan_weights_product(p, gpu, 0, images);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->product->variant->name, "experts_weights_bf16_128x256x64_s4");
  ASSERT_EQ(plan->steps.size(), 2u);
  EXPECT_EQ(plan->steps[0].image, plan->rows);
  EXPECT_EQ(plan->steps[0].grid.x, 1);
  EXPECT_EQ(plan->steps[1].image, plan->product);
  EXPECT_EQ(plan->steps[1].grid.x, gpu.sms);
  p.experts = 1, p.m = 64, p.n = 300 * 8;
  EXPECT_EQ(plan_weights_product(p, gpu, 0, images)->steps[1].grid.x, 10);
  p.experts = 512, p.m = p.n = 1 << 20;
  EXPECT_EQ(plan_weights_product(p, gpu, 0, images).error().code, Code::kMisfit);
  for (const char* name : {"L4", "B200"}) {
    const auto none = plan_weights_product({.dtype = DType::kF16, .rows = 1, .experts = 1, .m = 8, .n = 8},
                                           find_gpu(name).value(), 0, images);
    ASSERT_FALSE(none) << name;
    EXPECT_EQ(none.error().code, Code::kMisfit);
  }
}

}  // namespace
}  // namespace flashfit::testing
