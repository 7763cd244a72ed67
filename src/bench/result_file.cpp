#include "bench/result_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "bench/json_view.hpp"

namespace flashfit::results {
namespace {

using Json = nlohmann::ordered_json;

// A run of all cases beside eight peers takes some 10 MB.
constexpr std::uintmax_t kLargestFile = 256u << 20;
constexpr int kDeepest = 32;
constexpr std::size_t kLongestName = 200;
// Far above what a run has; names are looked up one after another.
constexpr std::size_t kMostCases = 10'000, kMostPeers = 64;
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
  const double median = bench::median(timing.samples_us);
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

ResultProblem read_problem(const JsonView& view) {
  view.must_be_object();
  return {.dtype = view["dtype"].text(),
          .memory = view["memory"].text_or_none(),
          .head_dim = view["head_dim"].whole(),
          .heads_q = view["heads_q"].whole(),
          .heads_kv = view["heads_kv"].whole(),
          .causal = view["causal"].truth(),
          .softmax_scale = view["softmax_scale"].number_or_none(-1e30),
          .batch = view["batch"].whole_or_zero(),
          .seqlen_q = view["seqlen_q"].whole_or_zero(),
          .seqlen_k = view["seqlen_k"].whole_or_zero(),
          .lengths_q = read_lengths(view["lengths_q"]),
          .lengths_k = read_lengths(view["lengths_k"])};
}

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

std::optional<ResultGpu> read_gpu(const JsonView& view) {
  if (view.is_null()) return std::nullopt;
  return ResultGpu{.name = view["name"].text(),
                   .compute_capability = view["compute_capability"].text_or_none(),
                   .sms = view["sms"].number_or_none(),
                   .clock_max_mhz = view["clock_max_mhz"].number_or_none(),
                   .memory_clock_max_mhz = view["memory_clock_max_mhz"].number_or_none(),
                   .power_limit_w = view["power_limit_w"].number_or_none()};
}

/// The noise floor: a number, or an object that holds it as `half_width` beside how it was found.
std::optional<double> read_noise(const JsonView& view) {
  return view.json().is_object() ? view["half_width"].number_or_none() : view.number_or_none();
}

ResultFile read(const JsonView& view) {
  const JsonView made = view["made"], machine = view["machine"], method = view["method"];
  made.must_be_object();
  machine.must_be_object();
  method.must_be_object();
  ResultFile file{.at = made["at"].text_or_none(),
                  .revision = made["revision"].text_or_none(),
                  .complete = made["complete"].truth(),
                  .cpu = machine["cpu"].text_or_none(),
                  .cores = machine["cores"].whole_or_zero(),
                  .gpu = read_gpu(machine["gpu"]),
                  .l2 = method["l2"].text_or_none(),
                  .clock = method["clock"].text_or_none(),
                  .noise = read_noise(method["noise"])};
  view["versions"].each([&](const std::string& name, const JsonView& version) {
    file.versions[name] = version.json().is_string() ? version.text() : version.json().dump();
  });
  const Json& cases = view["cases"].json();
  if (!cases.is_array() || cases.size() > kMostCases) {
    view["cases"].must(fmt::format("a list of at most {}", kMostCases));
    return file;
  }
  std::set<std::string> names;
  for (const JsonView& element : view["cases"].elements()) {
    file.cases.push_back(read_case(element));
    if (!names.insert(file.cases.back().name).second) element["name"].must("of one case alone");
  }
  return file;
}

}  // namespace

const PeerResult* CaseResult::peer(std::string_view peer_name) const {
  const auto at = std::find_if(peers.begin(), peers.end(), [&](const PeerResult& p) { return p.name == peer_name; });
  return at == peers.end() ? nullptr : &*at;
}

const CaseResult* ResultFile::find(std::string_view name) const {
  const auto at = std::find_if(cases.begin(), cases.end(), [&](const CaseResult& c) { return c.name == name; });
  return at == cases.end() ? nullptr : &*at;
}

Result<ResultFile> parse_result(std::string_view text) {
  bool too_deep = false;
  // Values below are dropped as they come, so that a file of brackets takes no memory.
  const auto keep = [&](int depth, Json::parse_event_t, Json&) {
    too_deep |= depth > kDeepest;
    return depth <= kDeepest;
  };
  Json json = Json::parse(text, keep, false);
  const auto refuse = [](std::string why) { return fail(Code::kInvalidArgument, std::move(why)); };
  if (too_deep) return refuse(fmt::format("nested deeper than {}: no result file", kDeepest));
  if (json.is_discarded()) return refuse("no JSON: cut short, or not a result file");
  FirstFault fault;
  const JsonView view(json, "", fault);
  view.must_be_object();
  if (!fault.empty()) return refuse(fault);
  const Json& schema = view["schema"].json();
  if (schema != kResultSchema)
    return refuse(fmt::format("schema: {}; this flashfit reads {}", schema.is_null() ? "is missing" : schema.dump(),
                              kResultSchema));
  ResultFile file = read(view);
  if (!fault.empty()) return refuse(fault);
  file.json = std::move(json);
  return file;
}

Result<ResultFile> read_result(const std::string& path) {
  const auto refuse = [&](std::string_view why) {
    return fail(Code::kInvalidArgument, fmt::format("{}: {}", path, why));
  };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return refuse("is a folder, not a result file");
  std::ifstream in(path, std::ios::binary);
  if (!in) return refuse("cannot be read");
  // A pipe has no size beforehand: what is read is counted.
  std::string text;
  for (std::string piece(1 << 20, '\0'); in;) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece, 0, static_cast<std::size_t>(in.gcount()));
    if (text.size() > kLargestFile) return refuse("longer than 256 MB: no result file");
  }
  Result<ResultFile> file = parse_result(text);
  if (!file) return refuse(file.error().message);
  return file;
}

}  // namespace flashfit::results
