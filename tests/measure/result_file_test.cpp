// Result files that break the contract are refused in one line that says where; odd but sound ones are read.
#include "measure/result_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flashfit::results {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

Json sound() {
  return Json::parse(R"({
    "schema": 1, "made": {"at": "2026-11-21T20:00:00Z", "revision": "abc", "complete": true},
    "machine": {"cpu": "c", "cores": 2, "gpu": null}, "versions": {"torch": "2.13.0"},
    "method": {"l2": "warm", "clock": "host", "noise": 0.01}, "ceilings": null,
    "cases": [{"name": "a", "group": "grid", "problem": {"dtype": "fp16", "head_dim": 64, "heads_q": 8, "heads_kv": 8,
        "causal": false, "batch": 1, "seqlen_q": 512, "seqlen_k": 512},
      "work": {"flop": 1e9, "exp": 1e6, "bytes": 1e6}, "correct": true, "error": 0, "error_bound": 0.001, "launch": "host",
      "samples_us": [9, 10, 12], "median_us": 10, "interval_us": [9, 12], "clock_mhz": null,
      "peers": {"sdpa-flash": {"correct": true, "samples_us": [20, 20, 24], "median_us": 20, "interval_us": [20, 24],
                                "ratio": 2, "ratio_interval": [1.9, 2.1]},
                "sdpa-cudnn": {"correct": false, "message": "no kernel"}}}]})");
}

std::string refusal(const Json& json) {
  const auto file = parse_result(json.dump());
  return file ? "read" : file.error().message;
}

TEST(ResultFile, WhatItHoldsIsRead) {
  const auto file = parse_result(sound().dump());
  ASSERT_TRUE(file) << file.error().message;
  const CaseResult& c = file->cases.at(0);
  EXPECT_EQ(c.timing->median_us, 10);
  EXPECT_EQ(c.peer("sdpa-flash")->ratio, 2);
  EXPECT_EQ(c.peer("sdpa-cudnn")->message, "no kernel");
  EXPECT_EQ(c.peer("x"), nullptr);
  EXPECT_EQ(file->find("a"), &c);
  EXPECT_EQ(file->find("b"), nullptr);
  EXPECT_FALSE(file->gpu);
  EXPECT_EQ(file->noise, 0.01);
}

TEST(ResultFile, ABreachIsNamedByItsPlace) {
  const std::pair<const char*, const char*> breaches[] = {
      {R"([{"op": "replace", "path": "/schema", "value": 2}])", "schema: 2; this flashfit reads 1"},
      {R"([{"op": "remove", "path": "/schema"}])", "schema: is missing; this flashfit reads 1"},
      {R"([{"op": "remove", "path": "/cases"}])", "cases: must be a list of at most 10000"},
      {R"([{"op": "remove", "path": "/machine"}])", "machine: must be an object"},
      {R"([{"op": "replace", "path": "/made/complete", "value": 1}])", "made.complete: must be true or false"},
      {R"([{"op": "replace", "path": "/cases/0", "value": 7}])", "cases[0]: must be an object"},
      {R"([{"op": "replace", "path": "/cases/0/name", "value": ""}])", "cases[0].name: must be of 1 to 200 characters"},
      {R"([{"op": "copy", "from": "/cases/0", "path": "/cases/1"}])", "cases[1].name: must be of one case alone"},
      {R"([{"op": "replace", "path": "/cases/0/samples_us/1", "value": "x"}])",
       "cases[0].samples_us[1]: must be a number of at least 0.0"},
      {R"([{"op": "replace", "path": "/cases/0/samples_us/1", "value": 0}])",
       "cases[0].samples_us[1]: must be above 0"},
      {R"([{"op": "replace", "path": "/cases/0/median_us", "value": 11}])",
       "cases[0].median_us: must be the median of samples_us, 10"},
      {R"([{"op": "replace", "path": "/cases/0/interval_us", "value": [12, 9]}])",
       "cases[0].interval_us: must be [low, high] with 0 < low <= high"},
      {R"([{"op": "replace", "path": "/cases/0/interval_us", "value": 9}])", "cases[0].interval_us: must be a list"},
      {R"([{"op": "replace", "path": "/cases/0/correct", "value": false}])",
       "cases[0].samples_us: must be left out, as what is not correct has no times"},
      {R"([{"op": "replace", "path": "/cases/0/problem/head_dim", "value": -1}])",
       "cases[0].problem.head_dim: must be a whole number from 0 on"},
      {R"([{"op": "replace", "path": "/cases/0/work", "value": 5}])", "cases[0].work: must be an object"},
      {R"([{"op": "replace", "path": "/cases/0/peers/sdpa-flash/ratio", "value": 0}])",
       "cases[0].peers.sdpa-flash.ratio: must be above 0"},
  };
  for (const auto& [patch, message] : breaches) EXPECT_EQ(refusal(sound().patch(Json::parse(patch))), message);
}

TEST(ResultFile, MoreThanAnyRunHoldsIsRefused) {
  Json json = sound();
  for (int i = 0; i < 65; ++i) json["cases"][0]["peers"][std::to_string(i)] = {{"correct", false}};
  EXPECT_EQ(refusal(json), "cases[0].peers: must be of at most 64");
  json["cases"] = Json::array();
  for (int i = 0; i < 10'001; ++i) json["cases"].push_back(i);
  EXPECT_EQ(refusal(json), "cases: must be a list of at most 10000");
}

TEST(ResultFile, NoResultAtAll) {
  for (const char* text : {"", "{", "[1, 2", "\x80", "{\"schema\": 1e999}", "nul"}) {
    const auto file = parse_result(text);
    ASSERT_FALSE(file) << text;
    EXPECT_EQ(file.error().message, "no JSON: cut short, or not a result file") << text;
  }
  EXPECT_EQ(refusal(Json::array()), "the file: must be an object");
  EXPECT_EQ(refusal(Json("text")), "the file: must be an object");
}

TEST(ResultFile, AWellOfBracketsTakesNoStackAndIsRefused) {
  const auto file = parse_result(std::string(1'000'000, '['));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, "nested deeper than 32: no result file");
}

TEST(ResultFile, AnyCutOfAFileIsRefused) {
  const std::string text = sound().dump();
  for (std::size_t size = 0; size < text.size(); size += 7) EXPECT_FALSE(parse_result(text.substr(0, size))) << size;
}

TEST(ResultFile, AFileThatIsNotThereAndAFolder) {
  EXPECT_EQ(read_result("/nonexistent.json").error().message, "/nonexistent.json: cannot be read");
  EXPECT_THAT(read_result(testing::TempDir()).error().message, HasSubstr("is a folder, not a result file"));
}

}  // namespace
}  // namespace flashfit::results
