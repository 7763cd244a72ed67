#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "cli/doctor/tables.hpp"
#include "cli/doctor/words.hpp"
#include "core/gpu/driver_versions.hpp"

namespace flashfit::cli {
namespace {

using doctor::Problem;
using doctor::Severity;
using doctor::TargetReport;
using doctor::Verdict;

/// What the target holds, for those whom the verdict does not answer enough.
void add_holdings(std::string& out, const TargetReport& r) {
  std::set<std::string> sass, ptx;
  std::size_t containers = 0, with_code = 0;
  CudaVersion toolkit = 0;
  for (const auto& binary : r.target.binaries) {
    const auto holdings = holdings_of(binary);
    sass.insert(holdings.sass.begin(), holdings.sass.end());
    ptx.insert(holdings.ptx.begin(), holdings.ptx.end());
    containers += binary.containers.size();
    with_code += binary.containers.empty() ? 0 : 1;
    toolkit = std::max(toolkit, binary.toolkit);
  }
  if (containers == 0) return;
  const auto by_number = [](const std::set<std::string>& names) {
    std::vector<std::string> list(names.begin(), names.end());
    std::stable_sort(list.begin(), list.end(), [](const std::string& a, const std::string& b) {
      return std::strtod(a.c_str(), nullptr) < std::strtod(b.c_str(), nullptr);
    });
    return list;
  };
  out += fmt::format("holds: {}; {}; {} container{} in {} binar{}{}\n",
                     sass.empty() ? "no SASS" : fmt::format("SASS {}", fmt::join(by_number(sass), " ")),
                     ptx.empty() ? "no PTX" : fmt::format("PTX {}", fmt::join(by_number(ptx), " ")), containers,
                     containers == 1 ? "" : "s", with_code, with_code == 1 ? "y" : "ies",
                     toolkit == 0 ? "" : "; made by CUDA " + str(toolkit));
}

void add_fixes(std::string& out, const TargetReport& r) {
  std::vector<std::string> fixes;
  for (const Problem& p : r.problems) {
    // What is worth looking for may say the same, and more.
    const bool said = std::find(fixes.begin(), fixes.end(), p.fix) != fixes.end() || r.look_for.starts_with(p.fix);
    if (p.severity != Severity::kNote && !said) fixes.push_back(p.fix);
  }
  constexpr std::size_t kMost = 4;
  if (fixes.size() > kMost) fixes.resize(kMost);
  if (!fixes.empty()) out += fmt::format("would fit: {}\n", fmt::join(fixes, "; and "));
  if (!r.mend.empty() && !r.look_for.empty()) out += fmt::format("look for: {}\n", r.look_for);
}

void add_target(std::string& out, const TargetReport& r, const DoctorReport& report, TextStyle style) {
  const auto number = static_cast<std::size_t>(&r - report.targets.data());
  const ListNotes notes = number < report.lists.size() ? report.lists[number] : ListNotes{};
  out += mend_lines(r);
  out += problem_lines(r, style, notes.lines);
  if (!notes.basis.empty()) out += notes.basis + "\n";
  out += gpu_table(r, report);
  if (style.verbose) out += binary_table(r, report);
  if (style.verbose || report.question.survey) add_holdings(out, r);
  add_fixes(out, r);
}

/// "2 of 5 targets do not fit on L40 (8.9): a.whl, b.whl; 1 cannot be told: c.whl".
std::string of_all(const DoctorReport& report) {
  const auto& targets = report.targets;
  constexpr std::size_t kMostNames = 3;
  std::vector<std::string> parts;
  const auto add = [&](auto of_these, const char* one, const char* more) {
    std::vector<std::string> names;
    for (const TargetReport& r : targets)
      if (of_these(r.verdict)) names.push_back(name_of(r));
    const std::size_t count = names.size();
    if (count == 0) return;
    if (count > kMostNames) names.resize(kMostNames);
    const std::string all =
        parts.empty() ? fmt::format(" of {} target{}", targets.size(), targets.size() == 1 ? "" : "s") : "";
    parts.push_back(fmt::format("{}{} {}{}: {}{}", count, all, count == 1 ? one : more,
                                parts.empty() ? for_gpus(report) : "", fmt::join(names, ", "),
                                count > kMostNames ? ", ..." : ""));
  };
  add([](Verdict v) { return v == Verdict::kMisfit || v == Verdict::kHost; }, "does not fit", "do not fit");
  add([](Verdict v) { return v == Verdict::kUnknown; }, "cannot be told", "cannot be told");
  add([](Verdict v) { return v == Verdict::kDegraded; }, "fits in part", "fit in part");
  if (parts.empty()) return fmt::format("all {} targets fit{}", targets.size(), for_gpus(report));
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

std::string doctor_text(const DoctorReport& report, TextStyle style) {
  std::string out;
  const auto& targets = report.targets;
  if (targets.size() == 1) {
    out = painted(sentence(targets[0], report), targets[0].verdict, style) + "\n";
    add_target(out, targets[0], report, style);
  } else {
    out = painted(of_all(report), worst(targets), style) + "\n";
    for (const TargetReport& r : targets) {
      if (!style.verbose && r.verdict == Verdict::kFits && targets.size() > 20) continue;
      out += painted(sentence(r, report), r.verdict, style) + "\n";
      add_target(out, r, report, style);
    }
  }
  return out + asked_lines(report);
}

}  // namespace flashfit::cli
