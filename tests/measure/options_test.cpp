// Options of attention in the harness: a case that asks for one is held to it, whole and by a sample of its rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "measure/call.hpp"
#include "measure/case_entry.hpp"
#include "measure/check.hpp"
#include "measure/filling.hpp"

namespace flashfit::measure {
namespace {

Case case_of(const std::string& keys) {
  const auto entry = nlohmann::ordered_json::parse(R"({"heads": 4, "dtype": "fp16", )" + keys + "}");
  Case c = read_case(entry);
  name_case(c, "g", entry);
  return c;
}

/// What the check says of a call on the CPU that is asked for `asked` where the case is `c`.
Verdict verdict_of(const Case& c, const Case& asked, double flop = kCheckFlop) {
  const Placement p = place(c);
  std::vector<std::byte> memory(p.bytes, std::byte{kPoison});
  fill_on_host(c, p, 7, memory.data());
  Call call(asked, p, memory.data(), DLDevice{kDLCPU, 0});
  const Result<void> ran = call.run(true);
  EXPECT_TRUE(ran) << ran.error().message;
  return check(c, p, 7, std::span(memory).subspan(p.results), true, flop);
}

struct Option {
  const char *name, *keys;
  std::function<void(Case&)> without;
};

const Option kOptions[] = {
    {"window", R"("seqlen_q": 150, "seqlen_k": 190, "head_dim": 64, "window_left": 40, "window_right": 9)",
     [](Case& c) { c.window_left = -1; }},
    {"right side", R"("seqlen_q": 150, "seqlen_k": 190, "head_dim": 64, "window_left": 40, "window_right": 9)",
     [](Case& c) { c.window_right = 8; }},
    {"causal window", R"("seqlen_q": 150, "seqlen_k": 190, "head_dim": 64, "window_left": 17, "causal": true)",
     [](Case& c) { c.window_left = 18; }},
    {"softcap", R"("seqlen_q": 150, "head_dim": 64, "softcap": 2)", [](Case& c) { c.softcap = 0; }},
    {"alibi", R"("seqlen_q": 130, "seqlen_k": 190, "head_dim": 64, "alibi": true)", [](Case& c) { c.alibi = false; }},
    {"sinks", R"("seqlen_q": 130, "head_dim": 64, "sinks": true)", [](Case& c) { c.sinks = false; }},
    {"bool", R"("batch": 2, "seqlen_q": 130, "seqlen_k": 77, "head_dim": 64, "bias": "bool")",
     [](Case& c) { c.bias.kind = BiasKind::kNone; }},
    {"bias", R"("batch": 2, "seqlen_q": 130, "seqlen_k": 77, "head_dim": 64, "bias": "like_q", "bias_axes": "hqk")",
     [](Case& c) { c.bias.kind = BiasKind::kNone; }},
    {"fp32 bias", R"("batch": 2, "seqlen_q": 130, "seqlen_k": 77, "head_dim": 64, "bias": "fp32", "bias_axes": "bk")",
     [](Case& c) { c.bias.kind = BiasKind::kNone; }},
    {"used keys", R"("batch": 2, "seqlen_q": 130, "seqlen_k": 177, "head_dim": 64, "seqused_k": [150, 3])",
     [](Case& c) { c.used_k.clear(); }},
};

// Two heads' worth of rows fp64 can do in the smaller of these, so that blocks of rows are drawn.
constexpr double kWhole = 1e9, kSample = 2e5;

TEST(Options, EachIsRightAndItsLackIsSeen) {
  for (const Option& option : kOptions) {
    const Case c = case_of(option.keys);
    Case without = c;
    option.without(without);
    for (const double flop : {kWhole, kSample}) {
      SCOPED_TRACE(std::string(option.name) + (flop == kWhole ? ", whole" : ", sampled"));
      EXPECT_EQ(verdict_of(c, c, flop).message, "");
      EXPECT_THAT(verdict_of(c, without, flop).message, testing::HasSubstr("within"));
    }
  }
}

TEST(Options, AllTogetherOnUnalignedRowsAndAnotherHeadDimOfV) {
  for (const char* causal : {"true", "false"}) {
    const Case c = case_of(std::string(R"("batch": 2, "seqlen_q": 90, "seqlen_k": 190, "heads_kv": 2, "head_dim": 72,
      "head_dim_v": 33, "memory": "unaligned", "window_left": 60, "window_right": 20, "softcap": 9, "alibi": true,
      "sinks": true, "bias": "like_q", "bias_axes": "hqk", "seqused_k": [190, 100], "causal": )") +
                           causal);
    for (const double flop : {kWhole, kSample}) EXPECT_EQ(verdict_of(c, c, flop).message, "") << c.name;
  }
}

TEST(Options, OfVariableLength) {
  const Case c = case_of(R"("lengths_q": [5, 0, 100, 1, 64], "lengths_k": [300, 17, 0, 1, 65], "head_dim": 64,
    "seqused_k": [200, 17, 0, 1, 30], "window_left": 50, "alibi": true, "sinks": true, "causal": true)");
  EXPECT_EQ(verdict_of(c, c).message, "");
}

TEST(Options, AreNamedAndWrittenDown) {
  const Case c = case_of(R"("batch": 2, "seqlen_q": 8, "head_dim": 192, "head_dim_v": 128, "window_left": 4,
    "window_right": 0, "softcap": 50, "alibi": true, "sinks": true, "bias": "bool", "bias_axes": "bk",
    "seqused_k": "falling")");
  EXPECT_EQ(c.name, "g/B2 S8 H4 D192x128 fp16 full window 4,0 softcap 50 alibi sinks bias bool B11K used falling");
  const nlohmann::ordered_json problem = json_of(c).at("problem");
  EXPECT_EQ(problem.at("bias_shape"), (nlohmann::ordered_json{2, 1, 1, 8}));
  EXPECT_EQ(problem.at("seqused_k"), (nlohmann::ordered_json{8, 4}));
  EXPECT_EQ(problem.at("window_left"), 4);
  for (const char* key : {"alibi", "sinks", "softcap", "bias", "head_dim_v"}) EXPECT_TRUE(problem.contains(key)) << key;
  const nlohmann::ordered_json plain = json_of(case_of(R"("seqlen_q": 8, "head_dim": 64)")).at("problem");
  EXPECT_EQ(plain.size(), 10u) << "a plain problem says nothing of options: " << plain.dump();
}

TEST(Options, CompulsoryWorkIsOfWhatTheMaskShows) {
  const auto work = [](const std::string& keys) {
    return work_of(case_of(R"("heads_kv": 2, "head_dim": 8, )" + keys));
  };
  EXPECT_EQ(work(R"("seqlen_q": 4, "window_left": 1, "window_right": 0)").exp, 4 * (1 + 2 + 2 + 2));
  // One query that sees the last two of a hundred keys: q and out, and two keys and values of two heads.
  const Work decode = work(R"("seqlen_q": 1, "seqlen_k": 100, "window_left": 1, "causal": true)");
  EXPECT_EQ(decode.bytes, 2 * 8 * 2 * (4 + 2 * 2));
  EXPECT_EQ(work(R"("batch": 2, "seqlen_q": 1, "seqlen_k": 100, "seqused_k": [30, 0])").exp, 4 * 30);
  const Work narrow = work(R"("seqlen_q": 4, "head_dim_v": 24)");
  EXPECT_EQ(narrow.flop, 2 * 4 * 16 * (8 + 24));
  const double with = work(R"("seqlen_q": 4, "bias": "fp32", "bias_axes": "hqk")").bytes,
               plain = work(R"("seqlen_q": 4)").bytes;
  EXPECT_EQ(with - plain, 4 * 4 * 4 * 4);
}

TEST(Options, NonsenseIsRefusedInALine) {
  const auto refusal = [](const std::string& keys) {
    try {
      case_of(keys);
    } catch (const CaseMistake& mistake) {
      return std::string(mistake.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal(R"("seqlen_q": 8, "head_dim": 8, "bias": "int8")"), "bias is 'int8', which is none");
  EXPECT_EQ(refusal(R"("seqlen_q": 8, "head_dim": 8, "bias": "bool", "bias_axes": "bx")"),
            "bias_axes is 'bx', which is not some of bhqk");
  EXPECT_EQ(refusal(R"("lengths_q": [8], "head_dim": 8, "bias": "bool")"), "a bias is for dense tensors");
  EXPECT_EQ(refusal(R"("seqlen_q": 8, "head_dim": 8, "seqused_k": [9])"), "seqused_k is 9 of 8 keys");
  EXPECT_EQ(refusal(R"("seqlen_q": 8, "head_dim": 8, "seqused_k": [1, 2])"), "1 lengths of keys and 2 seqused_k");
  EXPECT_EQ(refusal(R"("seqlen_q": 8, "head_dim": 8, "seqused_k": "rising")"),
            "seqused_k is \"rising\", which is neither lengths nor \"falling\"");
  EXPECT_EQ(refusal(R"("seqlen_q": 8, "head_dim": 8, "window_left": -2)"),
            "a window is -1 or more, a softcap 0 or more");
}

}  // namespace
}  // namespace flashfit::measure
