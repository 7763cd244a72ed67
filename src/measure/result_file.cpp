#include "measure/result_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "measure/json_view.hpp"
#include "measure/result_case.hpp"

namespace flashfit::results {
namespace {

using Json = nlohmann::ordered_json;

// A run of all cases beside eight peers takes some 10 MB.
constexpr std::uintmax_t kLargestFile = 256u << 20;
constexpr int kDeepest = 32;
// Far above what a run has; names are looked up one after another.
constexpr std::size_t kMostCases = 10'000;

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
