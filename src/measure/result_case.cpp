#include "measure/result_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace flashfit::results {
namespace {

constexpr std::size_t kLongestName = 200;
// Far above what a run has; names are looked up one after another.
constexpr std::size_t kMostPeers = 64;
constexpr double kRounding = 0.005;  // of a median as it is written

Interval read_interval(const JsonView& view) {
  const auto ends = view.elements();
  if (ends.size() != 2) {
    view.must("[low, high]");
    return {};
  }
  const Interval read{ends[0].number(0), ends[1].number(0)};
  if (read.low <= 0 || read.low > read.high) view.must("[low, high] with 0 < low <= high");
  return read;
}

std::vector<std::int64_t> read_lengths(const JsonView& view) {
  std::vector<std::int64_t> lengths;
  for (const JsonView& length : view.elements()) lengths.push_back(length.whole());
  return lengths;
}

std::vector<std::string> read_texts(const JsonView& view) {
  std::vector<std::string> texts;
  for (const JsonView& text : view.elements()) texts.push_back(text.text());
  return texts;
}

std::optional<Timing> read_timing(const JsonView& view, bool correct) {
  const JsonView samples = view["samples_us"];
  const auto elements = samples.elements();
  if (elements.empty()) return std::nullopt;
  if (!correct) samples.must("left out, as what is not correct has no times");
  Timing timing;
  timing.samples_us.reserve(elements.size());
  for (const JsonView& sample : elements) {
    timing.samples_us.push_back(sample.number(0));
    if (timing.samples_us.back() <= 0) sample.must("above 0");
  }
  timing.median_us = view["median_us"].number(0);
  const double median = measure::median(timing.samples_us);
  if (std::abs(timing.median_us - median) > kRounding * median)
    view["median_us"].must(fmt::format("the median of samples_us, {:g}", median));
  timing.interval_us = read_interval(view["interval_us"]);
  return timing;
}

PeerResult read_peer(const std::string& name, const JsonView& view) {
  view.must_be_object();
  PeerResult peer{.name = name, .correct = view["correct"].truth(), .message = view["message"].text_or_none()};
  peer.timing = read_timing(view, peer.correct);
  peer.ratio = view["ratio"].number_or_none();
  if (peer.ratio && *peer.ratio <= 0) view["ratio"].must("above 0");
  if (const JsonView ends = view["ratio_interval"]; !ends.is_null()) peer.ratio_interval = read_interval(ends);
  return peer;
}

/// What ResultProblem has fields for.
const std::set<std::string> kFields = {"dtype",     "memory",    "head_dim",      "heads_q",  "heads_kv",
                                       "causal",    "batch",     "softmax_scale", "seqlen_q", "seqlen_k",
                                       "lengths_q", "lengths_k", "head_dim_v"};

std::map<std::string, std::string> read_options(const JsonView& view) {
  std::map<std::string, std::string> options;
  view.each([&](const std::string& key, const JsonView& value) {
    if (!kFields.contains(key)) options[key] = value.json().dump();
  });
  return options;
}

ResultProblem read_problem(const JsonView& view) {
  view.must_be_object();
  return {.dtype = view["dtype"].text(),
          .memory = view["memory"].text_or_none(),
          .head_dim = view["head_dim"].whole(),
          .head_dim_v = view["head_dim_v"].is_null() ? view["head_dim"].whole() : view["head_dim_v"].whole(),
          .heads_q = view["heads_q"].whole(),
          .heads_kv = view["heads_kv"].whole(),
          .causal = view["causal"].truth(),
          .softmax_scale = view["softmax_scale"].number_or_none(-1e30),
          .batch = view["batch"].whole_or_zero(),
          .seqlen_q = view["seqlen_q"].whole_or_zero(),
          .seqlen_k = view["seqlen_k"].whole_or_zero(),
          .lengths_q = read_lengths(view["lengths_q"]),
          .lengths_k = read_lengths(view["lengths_k"]),
          .options = read_options(view)};
}

}  // namespace

CaseResult read_case(const JsonView& view) {
  view.must_be_object();
  CaseResult c{.name = view["name"].text(),
               .group = view["group"].text_or_none(),
               .launch = view["launch"].text_or_none(),
               .problem = read_problem(view["problem"]),
               .correct = view["correct"].truth(),
               .message = view["message"].text_or_none()};
  if (c.name.empty() || c.name.size() > kLongestName)
    view["name"].must(fmt::format("of 1 to {} characters", kLongestName));
  c.timing = read_timing(view, c.correct);
  c.flop = view["work"]["flop"].number_or_none();
  c.bytes = view["work"]["bytes"].number_or_none();
  c.share = view["share"].number_or_none();
  c.error = view["error"].number_or_none();
  c.error_bound = view["error_bound"].number_or_none();
  c.binds = view["bound_us"]["binds"].text_or_none();
  c.clock_mhz = view["clock_mhz"]["median"].number_or_none();
  c.throttled = read_texts(view["throttled"]);
  if (view["peers"].json().size() > kMostPeers) view["peers"].must(fmt::format("of at most {}", kMostPeers));
  view["peers"].each([&](const std::string& name, const JsonView& peer) { c.peers.push_back(read_peer(name, peer)); });
  return c;
}

}  // namespace flashfit::results
