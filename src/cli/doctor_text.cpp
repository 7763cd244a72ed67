#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "cli/doctor_report.hpp"
#include "cli/table.hpp"
#include "gpu/driver_versions.hpp"
#include "inspect/printable.hpp"
#include "inspect/torch_facts.hpp"

namespace flashfit::cli {
namespace {

using inspect::Coverage;
using inspect::printable;
using inspect::Problem;
using inspect::Severity;
using inspect::TargetReport;
using inspect::Verdict;

constexpr std::size_t kMostLines = 12;  // of problems, without --verbose
constexpr std::size_t kLongestPath = 200;

const char* colour_of(Verdict verdict) {
  if (verdict == Verdict::kFits) return "\x1b[32m";
  return verdict == Verdict::kMisfit || verdict == Verdict::kHost ? "\x1b[31m" : "\x1b[33m";
}

std::string painted(const std::string& text, Verdict verdict, TextStyle style) {
  return style.colour ? colour_of(verdict) + text + "\x1b[0m" : text;
}

const char* word_of(Severity severity) {
  constexpr const char* kWords[] = {"note", "WARN", "UNSURE", "HOST", "FAIL"};
  return kWords[static_cast<std::size_t>(severity)];
}

std::string name_of(const TargetReport& r) {
  return printable(r.target.file_name.empty() ? r.target.target : r.target.file_name, kLongestPath);
}

std::string for_gpus(const DoctorReport& report) {
  if (report.question.survey) return "";
  std::vector<std::string> names;
  for (const auto& gpu : report.question.gpus) names.push_back(gpu_words(gpu));
  return names.empty() ? "" : fmt::format(" on {}", fmt::join(names, ", "));
}

/// "X does not fit on L40 (8.9)".
std::string sentence(const TargetReport& r, const DoctorReport& report) {
  std::string name = name_of(r);
  const std::string where = for_gpus(report);
  switch (r.verdict) {
    case Verdict::kFits:
      if (!report.question.survey) return fmt::format("{} fits{}", name, where);
      return fmt::format("{} fits the GPUs of the table that say so", name);
    case Verdict::kDegraded:
      return fmt::format("{} fits in part{}", name, where);
    case Verdict::kUnknown:
      return fmt::format("cannot tell whether {} fits{}", name, where);
    case Verdict::kHost:
      return fmt::format("{} cannot run{}: the driver is at fault, and no other file helps", name, where);
    case Verdict::kMisfit:
      return fmt::format("{} does not fit{}", name, where);
  }
  return name;
}

std::string line_of(const Problem& p) {
  const std::string member = p.member.empty() ? "" : printable(p.member, kLongestPath) + ": ";
  return fmt::format("  {:<6} {}  {}{}\n", word_of(p.severity), p.code, member, p.message);
}

void add_problems(std::string& out, const TargetReport& r, TextStyle style) {
  std::size_t shown = 0, hidden = 0, notes = 0;
  for (const Problem& p : r.problems) {
    if (!style.verbose && p.severity == Severity::kNote) {
      ++notes;
    } else if (!style.verbose && shown == kMostLines) {
      ++hidden;
    } else {
      out += line_of(p);
      ++shown;
    }
  }
  if (hidden > 0) out += fmt::format("  and {} more: -v shows them\n", hidden);
  if (notes > 0 && r.verdict != Verdict::kFits) out += fmt::format("  {} note{}: -v\n", notes, notes == 1 ? "" : "s");
}

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
  for (const Problem& p : r.problems)
    if (p.severity != Severity::kNote && !p.fix.empty() && std::find(fixes.begin(), fixes.end(), p.fix) == fixes.end())
      fixes.push_back(p.fix);
  constexpr std::size_t kMost = 4;
  if (fixes.size() > kMost) fixes.resize(kMost);
  if (!fixes.empty()) out += fmt::format("would fit: {}\n", fmt::join(fixes, "; and "));
  if (!r.mend.empty()) out += fmt::format("try: {}\n     ({})\n", r.mend, r.mend_why);
}

/// A row for each GPU.
void add_matrix(std::string& out, const TargetReport& r, const DoctorReport& report) {
  const auto& gpus = report.question.gpus;
  if (gpus.size() < 2) return;
  std::vector<std::vector<std::string>> rows;
  for (const auto& gpu : gpus) {
    std::size_t all = 0, covered = 0;
    inspect::Best best = inspect::Best::kNo;
    for (const auto& binary : r.target.binaries) {
      const Coverage c = cover(binary, gpu, report.question.driver);
      all += c.containers;
      covered += c.summary.covered;
      best = std::max(best, c.summary.best);
    }
    if (all == 0) return;
    rows.push_back({gpu.asked, report.question.survey ? gpu.gpu.name : gpu.gpu.cc.str(), name_of(best),
                    fmt::format("{} of {}", covered, all)});
  }
  out += table({{report.question.survey ? "cc" : "gpu"},
                {report.question.survey ? "such as" : "cc"},
                {"runs"},
                {"containers", true}},
               rows);
}

void add_target(std::string& out, const TargetReport& r, const DoctorReport& report, TextStyle style) {
  add_problems(out, r, style);
  add_matrix(out, r, report);
  if (style.verbose || r.verdict != Verdict::kFits || report.targets.size() == 1) add_holdings(out, r);
  add_fixes(out, r);
}

}  // namespace

bool wants_colour() {
  const char* no = std::getenv("NO_COLOR");    // NOLINT(concurrency-mt-unsafe): nothing here sets variables
  const char* terminal = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe)
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return isatty(STDOUT_FILENO) != 0 && (no == nullptr || *no == '\0') && !dumb;
}

std::string gpu_words(const inspect::AskedGpu& gpu) {
  const std::string cc = gpu.gpu.cc.str();
  return gpu.gpu.name.ends_with(cc) ? cc : fmt::format("{} ({})", gpu.gpu.name, cc);
}

std::string asked_words(const DoctorReport& report) {
  const auto& q = report.question;
  std::vector<std::string> parts;
  if (q.survey)
    parts.emplace_back("every compute capability");
  else if (q.gpus.empty())
    parts.emplace_back("no GPU");
  else
    for (const auto& gpu : q.gpus) parts.push_back(gpu_words(gpu));
  if (q.driver != 0) parts.push_back(fmt::format("driver {} (CUDA {})", printable(q.driver_text, 40), str(q.driver)));
  if (q.python) parts.push_back(q.python->str());
  if (q.platform) parts.push_back(q.platform->str());
  if (q.torch) parts.push_back("torch " + printable(q.torch->version ? q.torch->version->text : q.torch->given, 80));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string doctor_text(const DoctorReport& report, TextStyle style) {
  std::string out;
  const auto& targets = report.targets;
  if (targets.size() == 1) {
    out = painted(sentence(targets[0], report), targets[0].verdict, style) + "\n";
    add_target(out, targets[0], report, style);
  } else {
    std::vector<std::string> bad;
    for (const TargetReport& r : targets)
      if (r.verdict != Verdict::kFits) bad.push_back(name_of(r));
    const std::size_t count = bad.size();
    if (count > 3) bad.resize(3);
    out = painted(count == 0 ? fmt::format("all {} targets fit{}", targets.size(), for_gpus(report))
                             : fmt::format("{} of {} targets {} not fit{}: {}{}", count, targets.size(),
                                           count == 1 ? "does" : "do", for_gpus(report), fmt::join(bad, ", "),
                                           count > 3 ? ", ..." : ""),
                  worst(targets), style) +
          "\n";
    for (const TargetReport& r : targets) {
      if (!style.verbose && r.verdict == Verdict::kFits && targets.size() > 20) continue;
      out += painted(sentence(r, report), r.verdict, style) + "\n";
      add_target(out, r, report, style);
    }
  }
  out += "asked: " + asked_words(report) + "\n";
  for (const std::string& line : report.assumed) out += "       " + line + "\n";
  return out;
}

std::string choice_text(const DoctorReport& report, const inspect::Choice& choice, TextStyle style) {
  std::string out;
  const auto gpus_of = [&](const std::vector<std::size_t>& numbers) {
    std::vector<std::string> names;
    for (const std::size_t g : numbers) names.push_back(gpu_words(report.question.gpus[g]));
    return fmt::format("{}", fmt::join(names, ", "));
  };
  if (choice.best) {
    const TargetReport& r = report.targets[*choice.best];
    out += painted("best: " + name_of(r), r.verdict, style) + "\n";
    add_problems(out, r, style);
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
      out += fmt::format("not: {}: {} {}{}\n", name_of(r), p.code, p.member.empty() ? "" : printable(p.member) + ": ",
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
  out += "asked: " + asked_words(report) + "\n";
  for (const std::string& line : report.assumed) out += "       " + line + "\n";
  return out;
}

}  // namespace flashfit::cli
