#include <algorithm>

#include "cli/doctor_report.hpp"
#include "gpu/driver_versions.hpp"
#include "inspect/printable.hpp"
#include "inspect/toolkit_versions.hpp"
#include "inspect/torch_facts.hpp"

namespace flashfit::cli {
namespace {

using Json = nlohmann::ordered_json;
using inspect::Binary;
using inspect::Problem;
using inspect::TargetReport;

const char* word_of(inspect::Severity severity) {
  constexpr const char* kWords[] = {"note", "degrades", "unknown", "host", "misfit"};
  return kWords[static_cast<std::size_t>(severity)];
}

std::string or_empty(CudaVersion version) { return version == 0 ? "" : str(version); }

Json problem_json(const Problem& p) {
  return {{"code", p.code},
          {"severity", word_of(p.severity)},
          {"message", p.message},
          {"member", inspect::printable(p.member, 4096)},
          {"fix", p.fix}};
}

Json binary_json(const Binary& b, const std::vector<inspect::GpuCoverage>& coverage) {
  const inspect::Holdings holdings = holdings_of(b);
  Json gpus = Json::object();
  for (const auto& c : coverage) gpus[c.gpu] = {{"best", name_of(c.best)}, {"covered", c.covered}};
  const auto loadable = std::count_if(b.containers.begin(), b.containers.end(),
                                      [](const inspect::Container& c) { return !c.entries.empty(); });
  return {{"path", inspect::printable(b.path, 4096)},
          {"kind", name_of(b.kind)},
          {"machine", b.machine},
          {"sass", holdings.sass},
          {"ptx", holdings.ptx},
          {"ptx_isa", holdings.newest_ptx_isa == 0 ? "" : inspect::ptx_isa_str(holdings.newest_ptx_isa)},
          {"toolkit", or_empty(b.toolkit)},
          {"torch_abi", name_of(b.extension.torch_abi)},
          {"glibc", glibc_floor(b)},
          {"needed", b.needed},
          {"containers", loadable},
          {"gpus", gpus}};
}

Json target_json(const TargetReport& r) {
  Json problems = Json::array(), binaries = Json::array();
  for (const Problem& p : r.problems) problems.push_back(problem_json(p));
  for (std::size_t i = 0; i < r.target.binaries.size(); ++i)
    binaries.push_back(binary_json(r.target.binaries[i], r.coverage[i]));
  return {{"target", r.target.target},
          {"kind", name_of(r.target.kind)},
          {"verdict", name_of(r.verdict)},
          {"problems", problems},
          {"mend", r.mend},
          {"look_for", r.look_for},
          {"tags", r.tags},
          {"glibc", r.glibc},
          {"binaries", binaries}};
}

Json asked_json(const DoctorReport& report) {
  const auto& q = report.question;
  Json gpus = Json::array();
  for (const auto& gpu : q.gpus)
    gpus.push_back(Json{{"asked", gpu.asked}, {"name", gpu.gpu.name}, {"compute_capability", gpu.gpu.cc.str()}});
  return {{"gpus", gpus},
          {"driver", q.driver_text},
          {"driver_cuda", or_empty(q.driver)},
          {"python", q.python ? q.python->str() : ""},
          {"platform", q.platform ? q.platform->str() : ""},
          {"torch", !q.torch           ? ""
                    : q.torch->version ? q.torch->version->text
                                       : q.torch->given},
          {"assumed", report.assumed}};
}

}  // namespace

Json doctor_json(const DoctorReport& report) {
  Json targets = Json::array();
  for (const TargetReport& r : report.targets) targets.push_back(target_json(r));
  return {
      {"schema", 1}, {"verdict", name_of(worst(report.targets))}, {"asked", asked_json(report)}, {"targets", targets}};
}

Json choice_json(const DoctorReport& report, const inspect::Choice& choice) {
  Json set = Json::array(), refused = Json::array(), unserved = Json::array();
  for (const auto& member : choice.set) {
    Json gpus = Json::array();
    for (const std::size_t g : member.gpus) gpus.push_back(report.question.gpus[g].asked);
    Json one = Json::object();
    one["target"] = report.targets[member.target].target.target;
    one["gpus"] = gpus;
    set.push_back(std::move(one));
  }
  for (const TargetReport& r : report.targets)
    if (r.verdict > inspect::Verdict::kDegraded)
      refused.push_back(Json{{"target", r.target.target},
                             {"verdict", name_of(r.verdict)},
                             {"code", r.problems.empty() ? "" : r.problems[0].code},
                             {"message", r.problems.empty() ? "" : r.problems[0].message}});
  for (const std::size_t g : choice.unserved) unserved.push_back(report.question.gpus[g].asked);
  return {{"schema", 1},        {"best", choice.best ? Json(report.targets[*choice.best].target.target) : Json()},
          {"set", set},         {"unserved", unserved},
          {"refused", refused}, {"asked", asked_json(report)}};
}

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

}  // namespace flashfit::cli
