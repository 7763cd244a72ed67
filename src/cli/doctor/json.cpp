#include <fmt/format.h>

#include "cli/doctor/format.hpp"
#include "core/base/printable.hpp"
#include "core/gpu/driver_versions.hpp"
#include "doctor/facts/torch_facts.hpp"
#include "doctor/gpu_code/toolkit_versions.hpp"

namespace flashfit::cli {
namespace {

using Json = nlohmann::ordered_json;
using doctor::Binary;
using doctor::Problem;
using doctor::TargetReport;

const char* word_of(doctor::Severity severity) {
  constexpr const char* kWords[] = {"note", "degrades", "unknown", "host", "misfit"};
  return kWords[static_cast<std::size_t>(severity)];
}

std::string or_empty(CudaVersion version) { return version == 0 ? "" : str(version); }

Json problem_json(const Problem& p, std::uint32_t line) {
  Json json = {{"code", p.code},
               {"severity", word_of(p.severity)},
               {"message", p.message},
               {"member", printable(p.member, 4096)},
               {"fix", p.fix}};
  if (line != 0) json["line"] = line;
  return json;
}

Json binary_json(const Binary& b, const std::vector<doctor::GpuCoverage>& coverage) {
  const doctor::Holdings holdings = holdings_of(b);
  Json gpus = Json::object();
  for (const auto& c : coverage) gpus[c.gpu] = {{"best", name_of(c.best)}, {"covered", c.covered}};
  return {{"path", printable(b.path, 4096)},
          {"kind", name_of(b.kind)},
          {"machine", b.machine},
          {"sass", holdings.sass},
          {"ptx", holdings.ptx},
          {"ptx_isa", holdings.newest_ptx_isa == 0 ? "" : doctor::ptx_isa_str(holdings.newest_ptx_isa)},
          {"toolkit", or_empty(b.toolkit)},
          {"cudart", b.cudart == 0 ? "" : std::to_string(b.cudart)},
          {"torch_abi", name_of(b.extension.torch_abi)},
          {"glibc", glibc_floor(b)},
          {"needed", b.needed},
          {"containers", counted_containers(b)},
          {"gpus", std::move(gpus)}};
}

/// Without its binaries.
Json target_json(const TargetReport& r, const ListNotes& notes) {
  Json problems = Json::array();
  for (std::size_t i = 0; i < r.problems.size(); ++i)
    problems.push_back(problem_json(r.problems[i], i < notes.lines.size() ? notes.lines[i] : 0));
  Json json = {{"target", r.target.target},
               {"kind", notes.kind.empty() ? name_of(r.target.kind) : notes.kind},
               {"verdict", name_of(r.verdict)},
               {"problems", std::move(problems)},
               {"mend", r.mend},
               {"look_for", r.look_for},
               {"tags", r.tags},
               {"glibc", r.glibc}};
  if (!notes.basis.empty()) json["basis"] = notes.basis;
  return json;
}

Json asked_json(const DoctorReport& report) {
  const auto& q = report.question;
  Json gpus = Json::array();
  for (const auto& gpu : q.gpus)
    gpus.push_back(Json{{"asked", gpu.asked}, {"name", gpu.gpu.name}, {"compute_capability", gpu.gpu.cc.str()}});
  return {{"gpus", std::move(gpus)},
          {"driver", q.driver_text},
          {"driver_cuda", or_empty(q.driver)},
          {"python", q.python ? q.python->str() : ""},
          {"platform", q.platform ? q.platform->str() : ""},
          {"torch", !q.torch           ? ""
                    : q.torch->version ? q.torch->version->text
                                       : q.torch->given},
          {"assumed", report.assumed}};
}

void indent(std::string& out, std::size_t level) { out.append(2 * level, ' '); }

/// Lines behind the first are moved in; within a string JSON has no line ends.
void add_text(std::string& out, std::string_view text, std::size_t level) {
  for (;;) {
    const std::size_t end = text.find('\n');
    out += text.substr(0, end);
    if (end == std::string_view::npos) return;
    out += '\n';
    indent(out, level);
    text.remove_prefix(end + 1);
  }
}

/// `object` with one more key, whose list is written item by item: one tree of ten thousand binaries takes longer to
/// build and to free than all else that a report from the cache needs.
template <class AddItem>
void add_with_list(std::string& out, std::size_t level, const Json& object, std::string_view key, std::size_t count,
                   AddItem add_item) {
  const std::string text = dump(object);
  add_text(out, std::string_view(text).substr(0, text.size() - 2), level);  // without its "\n}"
  out += ",\n";
  indent(out, level + 1);
  out += fmt::format("\"{}\": [", key);
  for (std::size_t i = 0; i < count; ++i) {
    out += i == 0 ? "\n" : ",\n";
    indent(out, level + 2);
    add_item(i, level + 2);
  }
  if (count > 0) {
    out += '\n';
    indent(out, level + 1);
  }
  out += "]\n";
  indent(out, level);
  out += '}';
}

Json report_head(const DoctorReport& report) {
  return {{"verdict", name_of(worst(report.targets))}, {"asked", asked_json(report)}};
}

/// `head` with the report's targets.
void add_report(std::string& out, std::size_t level, const Json& head, const DoctorReport& report) {
  add_with_list(out, level, head, "targets", report.targets.size(), [&](std::size_t t, std::size_t in_target) {
    const TargetReport& r = report.targets[t];
    const Json target = target_json(r, t < report.lists.size() ? report.lists[t] : ListNotes{});
    add_with_list(out, in_target, target, "binaries", r.target.binaries.size(), [&](std::size_t b, std::size_t in) {
      add_text(out, dump(binary_json(r.target.binaries[b], r.coverage[b])), in);
    });
  });
}

}  // namespace

Json problems_json(const std::vector<Problem>& problems) {
  Json list = Json::array();
  for (const Problem& p : problems) list.push_back(problem_json(p, 0));
  return list;
}

std::string doctor_json(const DoctorReport& report, const Json& more) {
  std::string out;
  Json head{{"schema", 1}};
  head.update(report_head(report));
  head.update(more);
  add_report(out, 0, head, report);
  return out;
}

std::string fleet_json(const std::vector<MachineReport>& machines) {
  if (machines.size() == 1 && machines[0].name.empty()) return doctor_json(machines[0].report);
  std::string out;
  add_with_list(out, 0, {{"schema", 1}, {"verdict", name_of(worst(machines))}}, "machines", machines.size(),
                [&](std::size_t m, std::size_t level) {
                  Json head{{"machine", machines[m].name}};
                  head.update(report_head(machines[m].report));
                  add_report(out, level, head, machines[m].report);
                });
  return out;
}

Json choice_json(const DoctorReport& report, const doctor::Choice& choice) {
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
    if (r.verdict > doctor::Verdict::kDegraded)
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
