#include "cli/doctor/error.hpp"
#include "core/base/printable.hpp"
#include "core/base/readable.hpp"

namespace flashfit::cli {
namespace {

using Json = nlohmann::ordered_json;
using doctor::pasted::Answer;

constexpr std::size_t kLongestText = 4096;

Json fields_json(const doctor::pasted::Fields& fields) {
  Json all = Json::object();
  for (const auto& [name, value] : fields) all[name] = readable(value, kLongestText);
  return all;
}

Json finding_json(const doctor::pasted::Finding& finding) {
  if (finding.kind == nullptr) return {};
  return {{"class", finding.kind->name},
          {"code", finding.kind->code},
          {"nature", name_of(finding.kind->nature)},
          {"line", finding.line},
          {"text", readable(finding.text, kLongestText)},
          {"fields", fields_json(finding.fields)}};
}

Json names_json(const Answer& a, const std::vector<std::size_t>& numbers) {
  Json names = Json::array();
  for (const std::size_t i : numbers) names.push_back(a.reports[i].target.target);
  return names;
}

Json culprits_json(const Answer& a) {
  Json culprits = Json::array();
  for (const auto& culprit : a.evidence.culprits)
    for (const auto& problem : culprit.problems)
      culprits.push_back(Json{{"target", a.reports[culprit.report].target.target},
                              {"code", problem.code},
                              {"message", problem.message},
                              {"member", printable(problem.member, kLongestText)}});
  return culprits;
}

Json named_json(const doctor::pasted::NamedInText& named) {
  return {{"gpu", named.gpu ? named.gpu->name : ""},
          {"python", named.python ? named.python->version : ""},
          {"driver", named.driver},
          {"torch", named.torch},
          {"versions", named.versions},
          {"site_packages", named.site_packages},
          {"packages", named.packages}};
}

}  // namespace

Json error_json(const Answer& a, const DoctorReport& report) {
  const auto& d = a.diagnosis;
  Json others = Json::array(), herrings = Json::array(), assumed = report.assumed;
  for (const auto& other : d.others) others.push_back(finding_json(other));
  for (const auto& herring : d.herrings)
    herrings.push_back(Json{{"line", herring.line}, {"text", herring.text}, {"why", herring.why}});
  Json concluded = d.concluded;
  for (const std::string& line : a.remarks.lines) concluded.push_back(line);
  for (const auto& fact : a.named) concluded.push_back(fact.line);
  for (const std::string& line : a.files.lines) concluded.push_back(line);
  return {{"schema", 1},
          {"cause_found", a.cause_found},
          {"error", finding_json(d.error)},
          {"also_on", d.also_on},
          {"others", others},
          {"red_herrings", herrings},
          {"concluded", concluded},
          {"not_told", d.unknown},
          {"environment", a.environment},
          {"culprits", culprits_json(a)},
          {"cleared", names_json(a, a.evidence.cleared)},
          {"silent", names_json(a, a.evidence.silent)},
          {"mend", a.mend},
          {"look_for", a.look_for},
          {"ask", a.ask},
          {"exception", d.exception},
          {"exception_line", d.exception_line},
          {"ends_early", d.ends_early},
          {"left_out", d.left_out},
          {"named", named_json(d.named)},
          {"assumed", assumed},
          {"source", d.error.kind == nullptr ? "" : d.error.kind->source}};
}

}  // namespace flashfit::cli
