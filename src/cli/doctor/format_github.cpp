// GitHub's workflow commands (GitHub's manual, "Workflow commands": escapes as its own toolkit writes them).
#include <fmt/format.h>

#include <filesystem>

#include "cli/doctor/format.hpp"
#include "core/base/printable.hpp"

namespace flashfit::cli {
namespace {

using doctor::Severity;

/// The most that a workflow run shows of each kind is ten; more are kept in the log, where they cost lines.
constexpr std::size_t kMost = 1000;

std::string data(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '%') {
      out += "%25";
    } else if (c == '\r') {
      out += "%0D";
    } else if (c == '\n') {
      out += "%0A";
    } else {
      out += c;
    }
  }
  return out;
}

std::string property(std::string_view text) {
  std::string out;
  for (const char c : data(text)) {
    if (c == ':') {
      out += "%3A";
    } else if (c == ',') {
      out += "%2C";
    } else {
      out += c;
    }
  }
  return out;
}

void add_problem(std::string& out, const MachineReport& machine, std::size_t target, std::size_t number) {
  const doctor::TargetReport& r = machine.report.targets[target];
  const doctor::Problem& p = r.problems[number];
  const std::uint32_t line = line_of(machine.report, target, number);
  out += fmt::format("::{} file={}{},title={}::{}\n", level_of(p.severity, "notice"),
                     property(printable(r.target.target, 500)), line == 0 ? "" : fmt::format(",line={}", line),
                     property("flashfit doctor " + p.code), data(message_of(machine, p)));
}

}  // namespace

std::string doctor_github(const std::vector<MachineReport>& machines, bool notes) {
  std::string out;
  std::size_t count = 0, left_out = 0;
  for (const MachineReport& machine : machines)
    for (std::size_t t = 0; t < machine.report.targets.size(); ++t)
      for (std::size_t p = 0; p < machine.report.targets[t].problems.size(); ++p) {
        if (!notes && machine.report.targets[t].problems[p].severity == Severity::kNote) continue;
        if (++count <= kMost) {
          add_problem(out, machine, t, p);
        } else {
          ++left_out;
        }
      }
  if (left_out > 0) out += fmt::format("and {} more\n", left_out);
  for (const MachineReport& machine : machines)
    out += fmt::format("flashfit doctor{}: {}; asked: {}\n", machine.name.empty() ? "" : ", " + printable(machine.name),
                       name_of(doctor::worst(machine.report.targets)), asked_words(machine.report));
  return out;
}

}  // namespace flashfit::cli
