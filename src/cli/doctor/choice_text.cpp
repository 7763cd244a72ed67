#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/doctor/words.hpp"
#include "core/base/printable.hpp"

namespace flashfit::cli {

using doctor::Problem;
using doctor::Severity;
using doctor::TargetReport;
using doctor::Verdict;

std::string choice_text(const DoctorReport& report, const doctor::Choice& choice, TextStyle style) {
  std::string out;
  const auto gpus_of = [&](const std::vector<std::size_t>& numbers) {
    std::vector<std::string> names;
    for (const std::size_t g : numbers) names.push_back(gpu_words(report.question.gpus[g]));
    return fmt::format("{}", fmt::join(names, ", "));
  };
  if (choice.best) {
    const TargetReport& r = report.targets[*choice.best];
    out += painted("best: " + name_of(r), r.verdict, style) + "\n";
    out += problem_lines(r, style);
  } else if (!choice.set.empty()) {
    out += fmt::format("no single one serves all; {} together do:\n", choice.set.size());
    for (const auto& member : choice.set)
      out += fmt::format("  {}: {}\n", name_of(report.targets[member.target]), gpus_of(member.gpus));
  } else {
    out += painted("none fits", Verdict::kMisfit, style) +
           (choice.unserved.empty() ? "" : ": nothing here serves " + gpus_of(choice.unserved)) + "\n";
  }
  for (std::size_t i = 0; i < report.targets.size(); ++i) {
    const TargetReport& r = report.targets[i];
    const bool chosen = std::any_of(choice.set.begin(), choice.set.end(), [&](const auto& m) { return m.target == i; });
    if (chosen) continue;
    if (r.problems.empty() || r.problems[0].severity == Severity::kNote) {
      out += fmt::format("also fits: {}\n", name_of(r));
    } else {
      const Problem& p = r.problems[0];
      out += fmt::format("not: {}: {} {}{}\n", name_of(r), p.code, p.member.empty() ? "" : path_words(p.member) + ": ",
                         p.message);
    }
  }
  if (choice.set.empty()) {
    std::vector<std::string> wanted;
    for (const TargetReport& r : report.targets)
      for (const Problem& p : r.problems)
        if (p.severity != Severity::kNote && !p.fix.empty() &&
            std::find(wanted.begin(), wanted.end(), p.fix) == wanted.end() && wanted.size() < 4)
          wanted.push_back(p.fix);
    if (!wanted.empty()) out += fmt::format("look for: {}\n", fmt::join(wanted, "; "));
  }
  return out + asked_lines(report);
}

}  // namespace flashfit::cli
