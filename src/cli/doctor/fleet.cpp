// The reports of a fleet: each machine's, one after the other.
#include <fmt/format.h>

#include <algorithm>

#include "cli/doctor/format.hpp"
#include "cli/doctor/words.hpp"
#include "core/base/printable.hpp"

namespace flashfit::cli {

using doctor::Verdict;

std::uint32_t line_of(const DoctorReport& report, std::size_t target, std::size_t problem) {
  if (target >= report.lists.size() || problem >= report.lists[target].lines.size()) return 0;
  return report.lists[target].lines[problem];
}

std::string message_of(const MachineReport& machine, const doctor::Problem& problem) {
  std::string text = machine.name.empty() ? "" : printable(machine.name) + ": ";
  if (!problem.member.empty()) text += printable(problem.member, 200) + ": ";
  text += problem.message;
  if (!problem.fix.empty()) text += "; would fit: " + problem.fix;
  return text;
}

const char* level_of(doctor::Severity severity, const char* note) {
  if (severity == doctor::Severity::kNote) return note;
  return severity == doctor::Severity::kMisfit || severity == doctor::Severity::kHost ? "error" : "warning";
}

Verdict worst(const std::vector<MachineReport>& machines) {
  Verdict verdict = Verdict::kFits;
  for (const MachineReport& machine : machines) verdict = std::max(verdict, doctor::worst(machine.report.targets));
  return verdict;
}

std::string fleet_text(const std::vector<MachineReport>& machines, TextStyle style) {
  if (machines.size() == 1 && machines[0].name.empty()) return doctor_text(machines[0].report, style);
  const auto served = std::count_if(machines.begin(), machines.end(), [](const MachineReport& machine) {
    return doctor::worst(machine.report.targets) == Verdict::kFits;
  });
  std::string out = painted(fmt::format("{} of {} machine{} of the policy {} served", served, machines.size(),
                                        machines.size() == 1 ? "" : "s", served == 1 ? "is" : "are"),
                            worst(machines), style) +
                    "\n";
  for (const MachineReport& machine : machines)
    out += fmt::format("\n== {}\n{}", printable(machine.name), doctor_text(machine.report, style));
  return out;
}

}  // namespace flashfit::cli
