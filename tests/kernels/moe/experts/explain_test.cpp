// What the experts' plan says of itself, for every GPU of the table.
#include "kernels/moe/experts/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "kernels/every_image.hpp"
#include "kernels/moe/experts/variants.hpp"

namespace flashfit {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::ElementsAre;

/// The catalogue's variants as a library carries them.
struct Carried {
  std::vector<KernelVariant> variants = experts_kernel_variants();
  std::vector<Image> images = test::every_image(variants, [](const KernelVariant&) { return 128; });
};

ExpertsProblem problem(std::int64_t tokens) {
  return {.tokens = tokens, .experts = 128, .top_k = 8, .hidden = 2048, .intermediate = 768, .low = 0, .high = 128};
}

Json explained(const Result<ExpertsPlan>& plan, const ExpertsProblem& p, const Gpu& gpu) {
  JsonText json;
  write_explanation(json, plan, p, gpu);
  return Json::parse(json.take().value());
}

std::vector<std::string> steps_of(const ExpertsPlan& plan, const ExpertsProblem& p) {
  std::vector<std::string> names;
  for (const ExpertsLaunch& l : launches_of(plan, p)) names.emplace_back(l.step);
  return names;
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST(ExpertsExplanation, SaysWhatThePlanHolds) {
  const Carried carried;
  std::set<std::vector<std::string>> keys;
  for (const Gpu& gpu : gpu_table())
    for (const std::int64_t tokens : {0, 1, 4096}) {
      const ExpertsProblem p = problem(tokens);
      const auto plan = plan_experts(p, gpu, 0, carried.images);
      const Json said = explained(plan, p, gpu);
      keys.insert(keys_of(said));
      EXPECT_EQ(said["gpu"], gpu.name);
      EXPECT_EQ(said["fits"], plan.has_value()) << gpu.name;
      EXPECT_EQ(said["reason"], reason_for(plan, p, gpu));
      if (!plan) {
        EXPECT_TRUE(said["variant"].is_null() && said["launches"].is_null() && said["workspace_bytes"].is_null());
        continue;
      }
      EXPECT_EQ(said["variant"], plan->product->variant->name);
      EXPECT_EQ(said["family"], plan->product->variant->family->name);
      EXPECT_EQ(said["tile_rows"], experts_product_variant_of(*plan->product->variant).config.tile_rows);
      EXPECT_EQ(said["shared_memory_bytes"], plan->product->variant->shared_bytes);
      EXPECT_EQ(said["registers_per_thread"].is_null(), plan->product->ptx());
      EXPECT_EQ(said["workspace_bytes"], workspace_bytes(p));
      EXPECT_EQ(said["modelled_us"], plan->time.all);
      EXPECT_EQ(said["bound_by"].is_null(), tokens == 0);
      ASSERT_EQ(said["launches"].size(), plan->steps.size());
      for (std::size_t i = 0; i < plan->steps.size(); ++i) {
        EXPECT_EQ(said["launches"][i]["variant"], plan->steps[i].image->variant->name);
        EXPECT_EQ(said["launches"][i]["grid"], plan->steps[i].grid.x);
      }
    }
  EXPECT_EQ(keys.size(), 1U) << "a misfit has the same keys";
}

TEST(ExpertsExplanation, NamesEachLaunch) {
  const Carried carried;
  Gpu gpu = find_gpu("L4").value();
  const auto steps = [&](const ExpertsProblem& p) { return steps_of(*plan_experts(p, gpu, 0, carried.images), p); };
  EXPECT_THAT(steps(problem(0)), ElementsAre());
  EXPECT_THAT(steps(problem(1)), ElementsAre("first product", "second product", "sum"));
  EXPECT_THAT(steps(problem(2)), ElementsAre("place", "first product", "second product", "sum"));
  EXPECT_THAT(steps(problem(4096)), ElementsAre("count", "place", "first product", "second product", "sum"));
  ExpertsProblem none = problem(1);
  none.high = 0;                                          // all experts are another GPU's
  EXPECT_THAT(steps(none), ElementsAre("place", "sum"));  // by the first configuration: none takes any time
  none.tokens = 4096;
  EXPECT_THAT(steps(none), ElementsAre("count", "place", "sum"));
  gpu = find_gpu("H200").value();
  EXPECT_THAT(steps(none), ElementsAre("count", "place", "sum"));
  EXPECT_THAT(steps(problem(256)), ElementsAre("place", "first product", "second product", "sum"));
  EXPECT_THAT(steps(problem(16384)), ElementsAre("count", "place", "first product", "second product, sums", "sum"));
}

TEST(ExpertsExplanation, TheLongestPartBinds) {
  using ::testing::StrEq;
  EXPECT_THAT(binds({.multiplying = 3, .reading_dram = 2, .reading_l2 = 1, .all = 4}), StrEq("multiplying"));
  EXPECT_THAT(binds({.multiplying = 1, .reading_dram = 3, .reading_l2 = 2, .all = 4}), StrEq("reading DRAM"));
  EXPECT_THAT(binds({.multiplying = 1, .reading_dram = 2, .reading_l2 = 3, .all = 4}), StrEq("reading L2"));
  EXPECT_EQ(binds({}), nullptr);
}

}  // namespace
}  // namespace flashfit
