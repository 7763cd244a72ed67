// SARIF (OASIS, "Static Analysis Results Interchange Format" 2.1.0).
#include <fmt/format.h>

#include <map>

#include "cli/doctor/codes.hpp"
#include "cli/doctor/format.hpp"
#include "core/base/ascii.hpp"

namespace flashfit::cli {
namespace {

using Json = nlohmann::ordered_json;

/// A path as a reference of RFC 3986, relative as it was given, or with "file:" where it is absolute.
std::string uri_of(std::string_view path) {
  while (path.starts_with("./")) path.remove_prefix(2);
  std::string out = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    if (is_alnum(c) || std::string_view("/._-~").find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

class Rules {
 public:
  std::size_t number_of(const std::string& code) {
    const auto [found, fresh] = numbers_.try_emplace(code, numbers_.size());
    if (fresh) {
      Json rule = {{"id", code},
                   {"shortDescription", {{"text", title_of_code(code)}}},
                   {"help", {{"text", "docs/doctor/" + code + ".md"}}}};
      if (const std::string uri = uri_of_code(code); !uri.empty()) rule["helpUri"] = uri;
      rules_.push_back(std::move(rule));
    }
    return found->second;
  }
  Json take() { return std::move(rules_); }

 private:
  std::map<std::string, std::size_t> numbers_;
  Json rules_ = Json::array();
};

Json result_of(const MachineReport& machine, std::size_t target, std::size_t number, Rules& rules) {
  const doctor::TargetReport& r = machine.report.targets[target];
  const doctor::Problem& p = r.problems[number];
  const std::uint32_t line = line_of(machine.report, target, number);
  // Where there is no line the first stands for all: code scanning takes no result without one.
  const Json location = {
      {"physicalLocation",
       {{"artifactLocation", {{"uri", uri_of(r.target.target)}}}, {"region", {{"startLine", line == 0 ? 1U : line}}}}}};
  return {{"ruleId", p.code},
          {"ruleIndex", rules.number_of(p.code)},
          {"level", level_of(p.severity, "note")},
          {"message", {{"text", message_of(machine, p)}}},
          {"locations", Json::array({location})}};
}

}  // namespace

Json doctor_sarif(const std::vector<MachineReport>& machines, int status) {
  Rules rules;
  Json results = Json::array();
  for (const MachineReport& machine : machines)
    for (std::size_t t = 0; t < machine.report.targets.size(); ++t)
      for (std::size_t p = 0; p < machine.report.targets[t].problems.size(); ++p)
        results.push_back(result_of(machine, t, p, rules));
  const Json driver = {{"name", "flashfit doctor"},
                       {"version", FLASHFIT_VERSION_TEXT},
                       {"semanticVersion", FLASHFIT_VERSION_TEXT},
                       {"rules", rules.take()}};
  const Json run = {{"tool", {{"driver", driver}}},
                    {"invocations", Json::array({Json{{"executionSuccessful", true}, {"exitCode", status}}})},
                    {"columnKind", "unicodeCodePoints"},
                    {"results", results}};
  return {{"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", Json::array({run})}};
}

}  // namespace flashfit::cli
