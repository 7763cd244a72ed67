// The JSON documents, on a machine without a driver.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/gpu/gpu.hpp"
#include "explain_arguments.hpp"
#include "flashfit/flashfit.h"
#include "runtime/images/carried.hpp"

namespace flashfit::test {
namespace {

using Json = nlohmann::json;

Json explain(const flashfit_explain_args& a) {
  char* text = nullptr;
  EXPECT_EQ(flashfit_explain_json(&a, &text), FLASHFIT_OK) << flashfit_last_error();
  Json json = text ? Json::parse(text) : Json();
  flashfit_free(text);
  return json;
}

TEST(Explain, OneObjectAGpu) {
  const Json one = explain(arguments("L4"));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]["gpu"], "L4");
  EXPECT_EQ(one[0]["compute_capability"], "8.9");
  EXPECT_EQ(one[0]["shared_memory_limit_bytes"], 101376);
  const Json all = explain(arguments("all"));
  EXPECT_EQ(all.size(), gpu_table().size());
  for (const char* key : {"gpu", "compute_capability", "fits", "family", "variant", "shared_memory_bytes",
                          "shared_memory_limit_bytes", "registers_per_thread", "reason"}) {
    for (const Json& gpu : all) EXPECT_TRUE(gpu.contains(key)) << key;
  }
}

TEST(Explain, AMisfitIsAnAnswer) {
  flashfit_explain_args a = arguments("T4");
  a.dtype = "bf16";
  const Json json = explain(a);
  EXPECT_EQ(json[0]["fits"], false);
  EXPECT_THAT(json[0]["reason"].get<std::string>(), testing::HasSubstr("bf16"));
}

TEST(Explain, SaysWhichArgumentIsWrong) {
  const auto refused = [](auto bend, const char* pattern, flashfit_status status = FLASHFIT_INVALID_ARGUMENT) {
    flashfit_explain_args a = arguments("L4");
    bend(a);
    char* text = reinterpret_cast<char*>(8);
    EXPECT_EQ(flashfit_explain_json(&a, &text), status);
    EXPECT_EQ(text, nullptr);
    EXPECT_THAT(flashfit_last_error(), testing::MatchesRegex(pattern));
  };
  refused([](auto& a) { a.struct_size = 8; },
          "args: struct_size is 8; accepted: sizeof of the struct, 152 in this version");
  refused([](auto& a) { a.reserved = 1; }, "args: reserved is 1; accepted: 0");
  refused([](auto& a) { a.flags = 0x100; }, "flags: 0x100 is unknown; accepted: .*");
  refused([](auto& a) { a.gpu = "Voodoo 2"; }, ".*Voodoo 2.*");
  refused([](auto& a) { a.dtype = "fp8"; }, "dtype: \"fp8\"; accepted: \"fp16\", \"bf16\", \"fp32\"");
  refused([](auto& a) { a.dtype = nullptr; }, "dtype: NULL; accepted: \"fp16\", \"bf16\", \"fp32\"");
  refused([](auto& a) { a.batch = 0; }, "batch: 0; accepted: 1 to 2147418112");
  refused([](auto& a) { a.seqlen_k = -1; }, "seqlen_k: -1; accepted: 0 to 2147418112");
  refused([](auto& a) { a.seqlen_q = 1ll << 40; }, "seqlen_q: 1099511627776; accepted: 0 to 2147418112");
  refused([](auto& a) { a.heads_kv = 3; }, "heads_kv: 3; accepted: a divisor of heads_q, 8");
  refused([](auto& a) { a.cuda_version = -1; }, "cuda_version: -1; accepted: 12090 for 12.9, or 0");
  refused([](auto& a) { a.head_dim_v = -1; }, "head_dim_v: -1; accepted: 0 to 2147418112");
  refused([](auto& a) { a.window_left = 3; },
          "window_left: 3 without FLASHFIT_WINDOW in flags; accepted: 0, or the flag");
  refused([](auto& a) { a.flags = FLASHFIT_WINDOW, a.window_right = -2; },
          "window_right: -2; accepted: 0 or more, or -1 for no limit");
  refused([](auto& a) { a.bias = "bf16"; },
          "bias: \"bf16\"; accepted: \"bool\", \"fp32\", the dtype \\(\"fp16\"\\), NULL");
  refused([](auto& a) { a.flags = FLASHFIT_VARIABLE_LENGTH, a.seqlen_q = a.seqlen_k = 0, a.bias = "bool"; },
          "bias: \"bool\" with FLASHFIT_VARIABLE_LENGTH; accepted: NULL there");
  refused([](auto& a) { a.gpu = nullptr; }, "gpu: NULL, this machine's, but .*; accepted: a GPU's name or \"all\"",
          FLASHFIT_NO_GPU);
  EXPECT_EQ(flashfit_explain_json(nullptr, nullptr), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_STREQ(flashfit_last_error(), "json: NULL; accepted: where to put the document's address");
}

TEST(Explain, VariableLengthAndTilesAreReachable) {
  flashfit_explain_args a = arguments("L4");
  a.flags = FLASHFIT_VARIABLE_LENGTH;
  a.seqlen_q = a.seqlen_k = 0;
  a.total_q = 900, a.total_k = 1000;
  EXPECT_EQ(explain(a).size(), 1u);
  a = arguments("L4");
  a.head_dim = 128;
  a.block_m = a.block_n = 128;
  const Json json = explain(a);
  EXPECT_EQ(json[0]["fits"], false);
  EXPECT_EQ(json[0]["shared_memory_bytes"], 163840);
}

TEST(Images, AllThatIsCarried) {
  char* text = nullptr;
  ASSERT_EQ(flashfit_images_json(&text), FLASHFIT_OK);
  const Json json = Json::parse(text);
  flashfit_free(text);
  ASSERT_EQ(json.size(), carried_images().size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    EXPECT_EQ(json[i]["variant"], carried_images()[i].variant->name);
    EXPECT_EQ(json[i]["target"], carried_images()[i].target.str());
    EXPECT_EQ(json[i]["bytes"], carried_images()[i].bytes);
  }
}

TEST(Gpus, NoDriverIsAFact) {
  char* text = nullptr;
  ASSERT_EQ(flashfit_gpus_json(&text), FLASHFIT_OK);
  const Json json = Json::parse(text);
  flashfit_free(text);
  EXPECT_TRUE(json["gpus"].empty());
  EXPECT_EQ(json["cuda"], nullptr);
  EXPECT_THAT(json["no_gpu_reason"].get<std::string>(), testing::HasSubstr("libcuda.so.1"));
}

TEST(Versions, TheLibrarySaysItsOwn) { EXPECT_EQ(flashfit_version(), 300u); }

}  // namespace
}  // namespace flashfit::test
