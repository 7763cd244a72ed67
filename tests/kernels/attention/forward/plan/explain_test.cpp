#include "kernels/attention/forward/plan/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kernels/attention/forward/plan/catalogue.hpp"
#include "kernels/attention/forward/plan/problems.hpp"

namespace flashfit {
namespace {

/// The object of explanation(arguments...).
template <class... Arguments>
nlohmann::json explained(const Arguments&... arguments) {
  JsonText json;
  write_explanation(json, explanation(arguments...));
  return nlohmann::json::parse(json.take().value());
}

const char* const kKeys[] = {"gpu",
                             "compute_capability",
                             "fits",
                             "family",
                             "variant",
                             "kind",
                             "target",
                             "shared_memory_bytes",
                             "shared_memory_limit_bytes",
                             "registers_per_thread",
                             "registers_estimated",
                             "blocks_per_sm",
                             "grid",
                             "packed_heads",
                             "splits",
                             "split_tiles",
                             "workspace_bytes",
                             "threads",
                             "bound",
                             "modelled_us",
                             "calibrated",
                             "reason"};

TEST(JsonText, WhatJsonCannotHoldIsAnErrorAndNoDocument) {
  const auto holds = [](const auto& x) {
    JsonText json;
    json.begin_array();
    json.value(x);
    json.end_array();
    const Result<std::string> text = json.take();
    return text ? nlohmann::json::accept(*text) : text.error().code != Code::kInternal;
  };
  EXPECT_TRUE(holds("caf\u00e9 \"\\\n\x01"));
  for (const char* text : {"caf\xe9", "\xe2\x82", "\xf5\x80\x80\x80", "\xed\xa0\x80"})
    EXPECT_FALSE(holds(text)) << text;
  EXPECT_TRUE(holds(12.5));
  EXPECT_FALSE(holds(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(holds(std::numeric_limits<double>::quiet_NaN()));
}

TEST(Explain, AFitAndAMisfitHaveTheSameKeys) {
  const auto images = test::full_catalogue();
  for (const Gpu& gpu : gpu_table())
    for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
      const auto j = explained(test::dense({.dtype = dtype}), gpu, 0, images);
      for (const char* key : kKeys) ASSERT_TRUE(j.contains(key)) << key;
      EXPECT_EQ(j.size(), std::size(kKeys));
      EXPECT_EQ(j["gpu"], gpu.name);
      EXPECT_EQ(j["shared_memory_limit_bytes"], gpu.shared_bytes_block);
      EXPECT_TRUE(j["reason"].is_string());
      EXPECT_EQ(j["variant"].is_null(), j["fits"] == false);
      for (const char* key : {"grid", "kind", "packed_heads", "splits", "split_tiles", "workspace_bytes"})
        EXPECT_EQ(j[key].is_null(), j["fits"] == false) << key;
    }
}

TEST(Explain, CountsTheOtherRowsInGoodEnglish) {
  const auto catalogue = test::full_catalogue();
  std::vector<Image> images;
  const ForwardProblem problem = test::dense({.batch = 2, .queries = 512});
  const Gpu gpu = find_gpu("L4").value();
  const char* const expected[] = {"; no other variant fits", "; the one other variant, ", "; of 2 others "};
  for (const Image& image : catalogue) {
    const ForwardConfig& c = forward_variant_of(*image.variant).config;
    if (images.size() == 3 || image.target != Target{89, Target::Kind::kSass} || c.dtype != problem.dtype ||
        c.head_dim != problem.head_dim)
      continue;
    images.push_back(image);
    EXPECT_THAT(explained(problem, gpu, 0, images)["reason"].get<std::string>(),
                testing::HasSubstr(expected[images.size() - 1]));
  }
  EXPECT_GE(images.size(), 2u);
}

TEST(Explain, SaysWhatThePlanSays) {
  const auto images = test::full_catalogue();
  const Gpu gpu = find_gpu("L4").value();
  const ForwardProblem problem = test::dense({.batch = 2, .queries = 512});
  const auto plan = plan_forward(problem, gpu, 0, images).value();
  const auto j = explained(problem, gpu, 0, images);
  EXPECT_EQ(j["compute_capability"], "8.9");
  EXPECT_EQ(j["family"], "mma");
  EXPECT_EQ(j["variant"], name_of(plan.variant->config));
  EXPECT_EQ(j["target"], "8.9");
  EXPECT_EQ(j["shared_memory_bytes"], plan.kernel_variant().shared_bytes);
  EXPECT_EQ(j["registers_per_thread"], plan.registers);
  EXPECT_EQ(j["grid"], plan.grid());
  EXPECT_THAT(j["reason"].get<std::string>(),
              testing::AllOf(testing::HasSubstr("machine code 8.9 runs on 8.9"), testing::HasSubstr("next at 1.")));
}

TEST(Explain, SaysHowKeysAreCutAndWhatThatTakes) {
  const auto images = test::full_catalogue();
  const Gpu gpu = find_gpu("H100").value();
  ForwardProblem problem = test::dense({.head_dim = 128, .queries = 1, .keys = 65536});
  const auto plan = plan_forward(problem, gpu, 0, images).value();
  ASSERT_GT(plan.splits, 1);
  const auto j = explained(problem, gpu, 0, images);
  EXPECT_EQ(j["kind"], "plain");
  EXPECT_EQ(j["splits"], plan.splits);
  EXPECT_EQ(j["split_tiles"], plan.split_tiles);
  EXPECT_EQ(j["workspace_bytes"], plan.workspace_bytes);
  EXPECT_THAT(j["reason"].get<std::string>(),
              testing::HasSubstr("; keys in " + std::to_string(plan.splits) + " parts, so that 8 blocks become " +
                                 std::to_string(8 * plan.splits) + "; a second launch combines"));
  problem = test::dense({.head_dim = 128, .batch = 8, .heads = 16});
  problem.softcap = true;
  const auto whole = explained(problem, gpu, 0, images);
  EXPECT_EQ(whole["kind"], "general");
  EXPECT_EQ(whole["splits"], 1);
  EXPECT_EQ(whole["split_tiles"], 0);
  EXPECT_EQ(whole["workspace_bytes"], 0);
  EXPECT_THAT(whole["reason"].get<std::string>(), testing::Not(testing::HasSubstr("parts")));
}

TEST(Explain, SaysWhichHeadsShareATile) {
  const auto images = test::full_catalogue();
  const Gpu gpu = find_gpu("H100").value();
  const test::Sizes few = {.head_dim = 128, .heads = 32, .heads_kv = 8, .queries = 4, .keys = 8192, .causal = true};
  const auto packed = explained(test::dense(few), gpu, 0, images);
  EXPECT_EQ(packed["packed_heads"], 4);
  EXPECT_THAT(packed["variant"].get<std::string>(), testing::EndsWith("_packed"));
  EXPECT_EQ(packed["grid"], 8);
  EXPECT_THAT(packed["reason"].get<std::string>(),
              testing::AllOf(testing::HasSubstr("64x64 tile of the 4 heads that share keys:"),
                             testing::HasSubstr("a second launch combines, which begins early")));
  const auto ampere = explained(test::dense(few), find_gpu("A100").value(), 0, images);
  EXPECT_THAT(ampere["reason"].get<std::string>(), testing::HasSubstr(", each head by itself is next at"));
  test::Sizes one = few;
  one.queries = 1;  // by strides alone
  const auto by_strides = explained(test::dense(one), gpu, 0, images);
  EXPECT_EQ(by_strides["packed_heads"], 4);
  EXPECT_THAT(by_strides["variant"].get<std::string>(), testing::Not(testing::EndsWith("_packed")));
  ForwardProblem sinks = test::dense(one);
  sinks.sinks = true;  // which tell the heads apart
  EXPECT_THAT(explained(sinks, gpu, 0, images)["variant"].get<std::string>(), testing::EndsWith("_packed"));
  test::Sizes ungrouped = few;
  ungrouped.heads_kv = ungrouped.heads;
  EXPECT_EQ(explained(test::dense(ungrouped), gpu, 0, images)["packed_heads"], 1);
}

TEST(Explain, PtxWithoutMachineCodeHasEstimatedRegisters) {
  const auto ptx = test::catalogue_of({80, Target::Kind::kPtx});
  const auto j = explained(test::dense({}), find_gpu("H100").value(), 0, ptx);
  EXPECT_EQ(j["registers_estimated"], true);
  EXPECT_THAT(j["reason"].get<std::string>(), testing::HasSubstr("PTX 8.0, compiled by the driver"));
  const auto both = explained(test::dense({}), find_gpu("Orin").value(), 0, test::full_catalogue());
  EXPECT_EQ(both["registers_estimated"], false);
}

TEST(Explain, NoRowsIsAFitThatLaunchesNothing) {
  const auto j = explained(test::dense({.queries = 0}), find_gpu("L4").value(), 0, test::full_catalogue());
  EXPECT_EQ(j["fits"], true);
  EXPECT_EQ(j["grid"], 0);
  EXPECT_EQ(j["reason"], "no rows: nothing to launch");
}

TEST(Explain, WhatIfHasTheSameKeysAndTheTile) {
  const ForwardConfig c = tile_config(DType::kF16, 128, 128, 128, 4);
  for (const char* name : {"L4", "H100"}) {
    const Gpu gpu = find_gpu(name).value();
    const auto j = explained(what_if(c, test::dense({.head_dim = 128}), gpu, {}), gpu);
    for (const char* key : kKeys) ASSERT_TRUE(j.contains(key)) << key;
    EXPECT_EQ(j["shared_memory_bytes"], 163840);
    EXPECT_EQ(j["shared_memory_static_limit_bytes"], 49152);
    EXPECT_EQ(j["block_n"], 128);
    EXPECT_EQ(j["variant"], nullptr);
    EXPECT_EQ(j["fits"], std::string(name) == "H100");
  }
}

}  // namespace
}  // namespace flashfit
