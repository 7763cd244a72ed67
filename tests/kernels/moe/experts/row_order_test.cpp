// The order of a backward's rows under the emulator, beside std::stable_sort; and its plan.
#include "kernels/moe/experts/row_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "kernels/every_image.hpp"
#include "kernels/moe/experts/ordered_rows.hpp"
#include "kernels/moe/experts/routed_order.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emu/schedules.hpp"
#include "proof/emulated/experts.hpp"
#include "proof/emulated/route.hpp"
#include "proof/emulated/steps.hpp"
#include "runtime/images/catalogue.hpp"

namespace flashfit::testing {
namespace {

using emulated::EmulatedKernel;

void expect_order(const std::vector<int>& ids, int top_k, int low, int experts, const emu::Options& options) {
  const EmulatedKernel& kernel = emulated::emulated_experts_rows().front();
  OrderedRows ordered(
      {.tokens = static_cast<std::int64_t>(ids.size()) / top_k, .top_k = top_k, .low = low, .experts = experts});
  emu::Memory memory;
  memory.read_only("ids", ids.data(), ids.size() * sizeof(int));
  ordered.add_to(memory);
  const RowOrderArguments arguments = ordered.arguments(ids.data());
  const Image image = image_of(kernel);  // steps point to it
  const Steps steps = row_order_steps(image, ordered.problem);
  const auto ran = emulated::run_steps(steps.all(), arguments.all(), {&kernel, 1}, memory, options);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ordered.defect(ids), "");
}

std::vector<int> random_ids(int count, int low, int high) {
  std::mt19937 random(static_cast<unsigned>(count * 31 + high));
  std::vector<int> ids(static_cast<std::size_t>(count));
  for (int& id : ids) id = low + static_cast<int>(random() % static_cast<unsigned>(high - low));
  return ids;
}

TEST(RowOrder, IsStableWithARowOfNoTokenBeforeEachExpertsRows) {
  for (const emu::Options& options : schedules()) {
    expect_order(random_ids(8 * 40, 0, 256), 8, 0, 256, options);  // experts without tokens
    expect_order(random_ids(300, 0, kMostExperts), 1, 0, kMostExperts, options);
    expect_order(random_ids(2048, 0, 9), 8, 0, 9, options);
    expect_order(random_ids(2049, 0, 9), 1, 0, 9, options);  // a second chunk
    expect_order(random_ids(3 * kSortChunk + 5, -3, 40), 1, 10, 20, options);
  }
}

TEST(RowOrder, ReadsWhatARouterWroteTwoStepsBefore) {
  const auto of_fp32 = [](const EmulatedKernel& k) { return route_variant_of(k.variant).config.dtype == DType::kF32; };
  const auto route = std::ranges::find_if(emulated::emulated_routes(), of_fp32);
  ASSERT_NE(route, emulated::emulated_routes().end());
  for (const emu::Options& options : schedules())
    EXPECT_EQ(defect_of_routed_order(*route, emulated::emulated_experts_rows().front(), options), "");
}

TEST(RowOrder, OfNoChoicesHasTheRowsOfNoTokenAlone) {
  constexpr int kLeast = std::numeric_limits<int>::min(), kMost = std::numeric_limits<int>::max();
  expect_order({}, 3, 0, 4, {});
  expect_order({-1, -1, kLeast, kMost, 4, 5}, 2, 0, 4, {});
  expect_order(std::vector<int>(kSortChunk + 7, -1), 1, 0, kMostExperts, {});
  expect_order({1, 1, 1}, 1, 1, 1, {});
}

TEST(RowOrder, TakesOneImageOnEveryGpu) {
  const auto images = test::every_image(catalogue(), [](const KernelVariant&) { return 64; });
  for (const char* name : {"H200", "L4", "T4"}) {
    const auto image = plan_row_order(find_gpu(name).value(), 0, images);
    ASSERT_TRUE(image) << image.error().message;
    EXPECT_EQ((*image)->variant->name, "experts_rows_fp16");
  }
  RowOrder p{.tokens = 1000, .top_k = 8, .low = 0, .experts = 16};
  const Image& image = images.front();
  ASSERT_EQ(row_order_steps(image, p).size(), 2u);
  EXPECT_EQ(row_order_steps(image, p)[1].grid.x, 4);
  EXPECT_EQ(row_order_workspace(p), 4 * 16 * 4);
  p.tokens = 256;
  EXPECT_EQ(row_order_steps(image, p).size(), 1u);
  EXPECT_EQ(row_order_workspace(p), 0);
  p.tokens = 0;
  ASSERT_EQ(row_order_steps(image, p).size(), 1u);
  EXPECT_EQ(row_order_steps(image, p)[0].grid.x, 1);
}

}  // namespace
}  // namespace flashfit::testing
