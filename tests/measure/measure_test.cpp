// What is measured is right, whole and possible, or it has no time.
#include "measure/measure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "measure/case_result.hpp"
#include "measure/check.hpp"
#include "measure/run.hpp"

namespace flashfit::measure {
namespace {

using testing::HasSubstr;

Case small(const std::string& more = "") {
  const std::string entry = R"({"seqlen_q": 40, "batch": 2, "heads": 2, "head_dim": 32, "dtype": "fp16")" + more + "}";
  return expand_cases(R"({"groups": [{"name": "g", "stands_for": "s", "cases": [)" + entry + "]}]}").value().at(0);
}

Options few() {
  Options o;
  o.warmup = 1;
  o.repeats = 7;
  o.seconds = 5;
  return o;
}

using Change = std::function<void(std::vector<std::byte>&)>;

/// A backend whose results are changed from the `from`-th look at them on: 1 before timing, 2 and 3 the first and the
/// last call of a sample, 4 after timing.
Backend changed(const Change& change, int from) {
  Backend b = cpu_backend();
  b.results = [right = b.results, change, from, looks = std::make_shared<int>(0)](bool last) {
    auto bytes = right(last);
    if (++*looks >= from) change(*bytes);
    return bytes;
  };
  return b;
}

void expect_no_time(Backend b, const std::string& why) {
  const std::optional<Measured> m = measure(small(), b, few());
  ASSERT_TRUE(m.has_value());
  EXPECT_FALSE(m->correct);
  EXPECT_TRUE(m->times.us.empty());
  EXPECT_THAT(m->message, HasSubstr(why));
  const auto json = json_of(small(), *m, b.launch, std::nullopt);
  EXPECT_EQ(json.at("correct"), false);
  EXPECT_TRUE(json.at("samples_us").empty());
  EXPECT_TRUE(json.at("median_us").is_null());
}

std::size_t out_in_results() {
  const Placement p = place(small());
  return p.out.offset - p.results;
}

TEST(Measure, TheCpuIsRightAndTimed) {
  for (const char* more : {"", R"(, "causal": true)", R"(, "memory": "packed_qkv")", R"(, "memory": "heads_first")",
                           R"(, "memory": "padded_rows")", R"(, "magnitude": 12)", R"(, "seqlen_k": 0)"}) {
    Backend b = cpu_backend();
    const std::optional<Measured> m = measure(small(more), b, few());
    ASSERT_TRUE(m.has_value());
    EXPECT_TRUE(m->correct) << more << ": " << m->message;
    EXPECT_EQ(m->times.us.size(), 7u);
    EXPECT_LE(m->error, m->bound);
  }
}

TEST(Measure, TheEdgesAreRightOnTheCpuAndHaveNoTimes) {
  Backend b = cpu_backend();
  const std::vector<Case> all = *expand_cases(case_list());
  for (const Case& c : all) {
    if (c.group != "edges" || c.head_dim != 32 || work_of(c).flop > 2e7) continue;
    const std::optional<Measured> m = measure(c, b, few());
    ASSERT_TRUE(m.has_value());
    EXPECT_TRUE(m->correct) << c.name << ": " << m->message;
    EXPECT_TRUE(m->times.us.empty());
  }
}

TEST(Measure, AWrongResultIsNotTimed) {
  const Change seven = [](std::vector<std::byte>& bytes) {
    const unsigned short bits = 0x4700;  // 7 in fp16
    std::memcpy(&bytes[out_in_results()], &bits, sizeof(bits));
  };
  expect_no_time(changed(seven, 1), "out of sequence 0, row 0, head 0, dim 0 is 7");
  expect_no_time(changed(seven, 2), "out of sequence 0, row 0, head 0, dim 0 is 7");
  expect_no_time(changed(seven, 3), "two calls of one sample give different results");
  expect_no_time(changed(seven, 4), "out of sequence 0, row 0, head 0, dim 0 is 7");
}

TEST(Measure, WhatWasNotWrittenIsSeen) {
  const Change unwritten = [](std::vector<std::byte>& bytes) {
    std::memset(&bytes[out_in_results() + 2 * 40 * 2 * 32 * 2 - 2], kPoison, 2);
  };
  expect_no_time(changed(unwritten, 1), "out of sequence 1, row 39, head 1, dim 31 was not written");
}

TEST(Measure, AWriteBesideOutIsSeen) {
  const Change before = [](std::vector<std::byte>& bytes) { bytes[out_in_results() - 1] = std::byte{0}; };
  expect_no_time(changed(before, 1), "byte -1 from out's first, which is outside of out and lse, was written");
  const Change after = [](std::vector<std::byte>& bytes) { bytes.back() = std::byte{1}; };
  expect_no_time(changed(after, 1), "which is outside of out and lse, was written");
}

TEST(Measure, ACallThatFailsSaysWhy) {
  Backend b = cpu_backend();
  b.call = []() -> Result<void> { return fail(Code::kMisfit, "it does not fit"); };
  expect_no_time(b, "it does not fit");
}

TEST(Measure, InputsAreFreshForEachCheck) {
  Backend b = cpu_backend();
  std::vector<std::uint64_t> seeds;
  b.fill = [right = b.fill, &seeds](std::uint64_t seed) {
    seeds.push_back(seed);
    return right(seed);
  };
  EXPECT_TRUE(measure(small(), b, few())->correct);
  EXPECT_EQ(seeds, (std::vector<std::uint64_t>{1, 2}));
}

TEST(Measure, ResultsOfEarlierInputsDoNotPass) {
  Backend b = cpu_backend();
  b.results = [right = b.results, kept = std::make_shared<std::vector<std::byte>>()](bool last) {
    if (kept->empty()) *kept = *right(last);
    return Result<std::vector<std::byte>>(*kept);
  };
  EXPECT_FALSE(measure(small(), b, few())->correct);
}

TEST(Measure, AMeasurementAboveItsBoundIsNoSpeed) {
  const Case c = small();
  Measured m;
  m.correct = true;
  m.times.us = {1.0, 1.1, 0.9};
  Ceilings ceilings;
  ceilings.tensor_tflops["fp16"] = {.samples = {work_of(c).flop / 2e-6 * 1e-12}};  // 2 us at least
  ceilings.exp_g_per_s = ceilings.memory_gb_per_s = {.samples = {1e9}};
  const auto refused = json_of(c, m, Launch::kGraph, bound_of(c, ceilings));
  EXPECT_EQ(refused.at("correct"), false);
  EXPECT_THAT(refused.at("message").get<std::string>(),
              HasSubstr("1.000 us is less than the 2.000 us that tensor alone takes"));
  EXPECT_TRUE(refused.at("samples_us").empty());
  EXPECT_FALSE(refused.contains("share"));

  m.times.us = {4.0, 4.4, 3.6};
  const auto taken = json_of(c, m, Launch::kGraph, bound_of(c, ceilings));
  EXPECT_EQ(taken.at("correct"), true);
  EXPECT_NEAR(taken.at("share").get<double>(), 0.5, 1e-9);
  EXPECT_EQ(taken.at("bound_us").at("binds"), "tensor");
}

TEST(Measure, ASampleOfRowsHoldsTheFirstAndTheLast) {
  const Case c = small(R"(, "causal": true)");
  EXPECT_EQ(sampled_rows(c, 1e9, 1).size(), 4u);  // all of it: a block a head of a sequence
  const std::vector<RowBlock> some = sampled_rows(c, 1e4, 1);
  EXPECT_EQ(some[0].first_row, 0);
  EXPECT_EQ(some[1].first_row + some[1].rows, 40);
  EXPECT_GE(some.size(), 4u);
  for (const RowBlock& r : some) {
    EXPECT_GE(r.first_row, 0);
    EXPECT_LE(r.first_row + r.rows, 40);
  }
}

TEST(Measure, ASampledCheckSaysWhatAWholeOneSays) {
  for (const char* more : {"", R"(, "causal": true)", R"(, "causal": true, "seqlen_k": 17)", R"(, "seqlen_k": 300)"}) {
    const Case c = small(more);
    const Placement p = place(c);
    Backend b = cpu_backend();
    ASSERT_TRUE(b.prepare(c, p) && b.fill(5) && b.call());
    const std::vector<std::byte> results = *b.results(false);
    EXPECT_EQ(check(c, p, 5, results, true, 1e12).message, "") << more;
    EXPECT_EQ(check(c, p, 5, results, true, 1e4).message, "") << more;
    EXPECT_NE(check(c, p, 6, results, true, 1e4).message, "") << more;  // of other inputs
  }
}

TEST(Measure, AnInterruptedRunIsAFileOfWhatWasMeasured) {
  measure::Run run;
  int left = 40;  // samples
  run.options = few();
  run.options.interrupted = [&left] { return left-- < 0; };
  Backend b = cpu_backend();
  const std::vector<Case> cases(20, small());
  const auto content = run_cases(cases, b, run);
  ASSERT_TRUE(content.has_value());
  EXPECT_EQ(content->at("made").at("complete"), false);
  EXPECT_GT(content->at("cases").size(), 0u);
  EXPECT_LT(content->at("cases").size(), 20u);
  for (const auto& c : content->at("cases")) EXPECT_EQ(c.at("samples_us").size(), 7u);
}

}  // namespace
}  // namespace flashfit::measure
