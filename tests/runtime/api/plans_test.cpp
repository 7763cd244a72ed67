// Explanations as structs, over images of the test's own: the same answers as JSON's, in the caller's version of the
// struct.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/gpu/gpu.hpp"
#include "explain_arguments.hpp"
#include "flashfit/flashfit.h"
#include "gpu_double.hpp"

namespace flashfit::test {
namespace {

flashfit_plan explain_one(const flashfit_explain_args& a) {
  flashfit_plan plan{};
  plan.struct_size = sizeof plan;
  std::size_t count = 0;
  EXPECT_EQ(flashfit_explain(&a, &plan, 1, &count), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(count, 1u);
  return plan;
}

TEST(Plans, WhatRuns) {
  const flashfit_plan p = explain_one(arguments("L4"));
  EXPECT_EQ(p.fits, 1) << p.reason;
  EXPECT_STREQ(p.gpu, "L4");
  EXPECT_EQ(p.cc_major * 10 + p.cc_minor, 89);
  EXPECT_STREQ(p.target, "8.9");
  EXPECT_STREQ(p.family, "mma");
  const ForwardVariant* row = find_forward_variant(p.variant);
  ASSERT_NE(row, nullptr) << p.variant;
  EXPECT_EQ(p.block_m, row->config.block_m);
  EXPECT_EQ(p.block_n, row->config.block_n);
  EXPECT_EQ(p.warps, row->config.warps);
  EXPECT_EQ(p.stages, row->config.stages);
  EXPECT_EQ(p.threads, 32 * p.warps);
  EXPECT_EQ(p.shared_memory_bytes, shared_bytes_of(row->config));
  EXPECT_EQ(p.shared_memory_limit_bytes, 101376);
  EXPECT_EQ(p.registers_per_thread, 168);
  EXPECT_EQ(p.registers_estimated, 0);
  EXPECT_EQ(p.grid, 2 * 8 * (512 / p.block_m));
  EXPECT_EQ(p.workspace_bytes, 0u);
  EXPECT_GT(p.modelled_us, 0);
  EXPECT_GT(p.blocks_per_sm, 0);
  EXPECT_STRNE(p.bound, "");
  EXPECT_THAT(p.reason, testing::HasSubstr("machine code 8.9 runs on 8.9"));
}

TEST(Plans, AMisfitIsAnAnswer) {
  flashfit_explain_args a = arguments("T4");
  a.dtype = "bf16";
  const flashfit_plan p = explain_one(a);
  EXPECT_EQ(p.fits, 0);
  EXPECT_STREQ(p.variant, "");
  EXPECT_EQ(p.grid, 0);
  EXPECT_THAT(p.reason, testing::HasSubstr("bf16"));
}

TEST(Plans, VariantsAndPtxAreForced) {
  flashfit_explain_args a = arguments("L4");
  a.variant = "fwd_mma_fp16_d64_64x64_w4_s2_b4";
  EXPECT_STREQ(explain_one(a).variant, a.variant);
  a.variant = nullptr;
  a.flags = FLASHFIT_PTX_ONLY;
  EXPECT_STREQ(explain_one(a).target, "8.0+PTX");
}

TEST(Plans, VariableLength) {
  flashfit_explain_args a = arguments("L4");
  a.flags = FLASHFIT_VARIABLE_LENGTH;
  a.seqlen_q = a.seqlen_k = 0;
  a.batch = 3;
  a.total_q = a.total_k = 1000;
  const flashfit_plan p = explain_one(a);
  EXPECT_EQ(p.grid, 8 * (1000 / p.block_m + 3));
}

TEST(Plans, WhatIf) {
  flashfit_explain_args a = arguments("L4");
  a.head_dim = 128;
  a.block_m = a.block_n = 128;
  const flashfit_plan no = explain_one(a);
  EXPECT_EQ(no.fits, 0);
  EXPECT_STREQ(no.variant, "");
  EXPECT_EQ(no.shared_memory_bytes, 163840);
  EXPECT_THAT(no.reason, testing::HasSubstr("shared memory: 163840 B"));
  a.block_n = 32, a.warps = 4, a.stages = 2;
  const flashfit_plan yes = explain_one(a);
  EXPECT_EQ(yes.fits, 1) << yes.reason;
  EXPECT_STREQ(yes.variant, "fwd_mma_fp16_d128_128x32_w4_s2_b2");
  EXPECT_STREQ(yes.target, "");
}

TEST(Plans, CountThenFill) {
  const flashfit_explain_args all = arguments("all");
  std::size_t count = 0;
  ASSERT_EQ(flashfit_explain(&all, nullptr, 0, &count), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(count, gpu_table().size());
  std::vector<flashfit_plan> plans(count + 1);
  std::memset(plans.data(), 0xa5, plans.size() * sizeof plans[0]);
  const auto untouched = [](const flashfit_plan& plan) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&plan);
    return std::all_of(bytes, bytes + sizeof plan, [](unsigned char b) { return b == 0xa5; });
  };
  plans[0].struct_size = sizeof plans[0];
  ASSERT_EQ(flashfit_explain(&all, plans.data(), 2, &count), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(count, gpu_table().size());
  EXPECT_TRUE(untouched(plans[2]));
  ASSERT_EQ(flashfit_explain(&all, plans.data(), plans.size(), &count), FLASHFIT_OK) << flashfit_last_error();
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(plans[i].gpu, gpu_table()[i].name);
    EXPECT_EQ(plans[i].struct_size, sizeof plans[i]);
  }
  EXPECT_TRUE(untouched(plans[count]));
}

TEST(Plans, ANewerCallersStructsLieFurtherApart) {
  struct Newer {
    flashfit_plan known;
    std::uint64_t later;
  };
  Newer plans[2];
  std::memset(plans, 0xa5, sizeof plans);
  plans[0].known.struct_size = sizeof(Newer);
  const flashfit_explain_args all = arguments("all");
  std::size_t count = 0;
  ASSERT_EQ(flashfit_explain(&all, &plans[0].known, 2, &count), FLASHFIT_OK) << flashfit_last_error();
  for (int i : {0, 1}) {
    EXPECT_EQ(plans[i].known.gpu, gpu_table()[i].name);
    EXPECT_EQ(plans[i].known.struct_size, sizeof(Newer));
    EXPECT_EQ(plans[i].later, 0u);
  }
}

TEST(Plans, SaysWhichArgumentIsWrong) {
  const auto refused = [](auto bend, const char* pattern) {
    flashfit_explain_args a = arguments("L4");
    flashfit_plan plan{};
    plan.struct_size = sizeof plan;
    std::size_t count = 9;
    bend(a, plan);
    EXPECT_EQ(flashfit_explain(&a, &plan, 1, &count), FLASHFIT_INVALID_ARGUMENT);
    EXPECT_THAT(flashfit_last_error(), testing::MatchesRegex(pattern));
    EXPECT_EQ(count, 0u);
  };
  refused([](auto&, auto& p) { p.struct_size = 0; },
          "plans\\[0\\]: struct_size is 0; accepted: sizeof of the struct, 792 in this version");
  refused([](auto& a, auto&) { a.variant = "fwd_none"; }, "variant 'fwd_none' is no variant of the table; .*");
  refused([](auto& a, auto&) { a.total_q = 5; }, "total_q: 5; accepted: 0");
  refused([](auto& a, auto&) { a.flags = FLASHFIT_VARIABLE_LENGTH; }, "seqlen_q: 512; accepted: 0");
  refused([](auto& a, auto&) { a.warps = 4; }, "block_m: 0; accepted: 16 to 4096");
  refused([](auto& a, auto&) { a.block_m = a.block_n = 64, a.stages = 9; }, "stages: 9; accepted: 0 to 8");
  refused([](auto& a, auto&) { a.block_m = a.block_n = 64, a.head_dim = 2048; }, "head_dim: 2048; accepted: 1 to 1024");
  refused([](auto& a, auto&) { a.block_m = a.block_n = 64, a.variant = "fwd_mma_fp16_d64_64x64_w4_s2_b4"; },
          "block_m: 64 with variant \"fwd_mma_fp16_d64_64x64_w4_s2_b4\"; accepted: 0, or a tile alone");
  const flashfit_explain_args a = arguments("L4");
  std::size_t count = 0;
  EXPECT_EQ(flashfit_explain(&a, nullptr, 1, &count), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_STREQ(flashfit_last_error(), "plans: NULL with capacity 1; accepted: NULL with 0");
  EXPECT_EQ(flashfit_explain(&a, nullptr, 0, nullptr), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_STREQ(flashfit_last_error(), "count: NULL; accepted: where to put the number of GPUs");
}

TEST(Features, AreThoseOfTheImagesAndOfTheApi) {
  std::vector<std::string> names;
  for (const char* const* name = flashfit_features(); *name; ++name) names.emplace_back(*name);
  EXPECT_THAT(names, testing::IsSupersetOf({"attention.forward", "attention.forward.varlen", "cpu.fp32", "explain",
                                            "gpu", "gpu.fp16", "gpu.bf16.d128"}));
  for (const std::string& name : names) EXPECT_EQ(flashfit_has_feature(name.c_str()), 1);
  for (const char* name : {"gpu.fp32", "gpu.fp16.d48", "attention.backward", "", static_cast<const char*>(nullptr)})
    EXPECT_EQ(flashfit_has_feature(name), 0);
}

TEST(Features, ImagesSayWhatTheyAreFor) {
  char* text = nullptr;
  ASSERT_EQ(flashfit_images_json(&text), FLASHFIT_OK) << flashfit_last_error();
  const auto all = nlohmann::json::parse(text);
  flashfit_free(text);
  const auto described = [&](const std::string& name) {
    const auto found = std::ranges::find_if(all, [&](const auto& image) { return image["variant"] == name; });
    return found == all.end() ? nlohmann::json{} : *found;
  };
  const auto latent = described("fwd_mma_bf16_d192v128_64x32_w4_s2_b2");
  EXPECT_EQ(latent["operation"], "attention.forward");
  EXPECT_EQ(latent["family"], "mma");
  EXPECT_EQ(latent["dtype"], "bf16");
  EXPECT_EQ(latent["head_dim"], 192);
  EXPECT_EQ(latent["head_dim_v"], 128);
  EXPECT_EQ(latent["kind"], "plain");
  EXPECT_EQ(described("fwd_mma_fp16_d64_64x64_w4_s2_b2_general")["kind"], "general");
  const auto router = described("route_warp_bf16_e128_w4");
  EXPECT_EQ(router["family"], "warp");
  EXPECT_FALSE(router.contains("head_dim"));
}

TEST(Status, HasAName) {
  EXPECT_STREQ(flashfit_status_name(FLASHFIT_OK), "FLASHFIT_OK");
  EXPECT_STREQ(flashfit_status_name(FLASHFIT_DISABLED), "FLASHFIT_DISABLED");
  for (int status = 0; status <= FLASHFIT_DISABLED; ++status)
    EXPECT_STRNE(flashfit_status_name(static_cast<flashfit_status>(status)), "FLASHFIT_UNKNOWN");
  for (const int status : {8, 99, 0x7fffffff})
    EXPECT_STREQ(flashfit_status_name(static_cast<flashfit_status>(status)), "FLASHFIT_UNKNOWN");
}

}  // namespace
}  // namespace flashfit::test
