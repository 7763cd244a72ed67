#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/doctor/error.hpp"
#include "cli/doctor/words.hpp"
#include "core/base/printable.hpp"

namespace flashfit::cli {
namespace {

using doctor::Verdict;
using doctor::pasted::Answer;
using doctor::pasted::Diagnosis;

constexpr std::size_t kMostCleared = 8, kMostProblems = 4;

std::string plural(std::size_t count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

/// Where the kind is not known, what can be said all the same.
std::string unknown_error(const Diagnosis& d) {
  std::string out = "unknown: no error of a known kind is in the text, which neither blames nor clears anything\n";
  if (!d.exception.empty()) {
    out += fmt::format("  line {}: {}\n", d.exception_line, d.exception);
    if (!d.raised_in.empty()) out += fmt::format("  raised by Python code, {}: see there\n", d.raised_in);
  }
  if (d.ends_early) out += "  the last traceback ends before its exception: paste the lines after it too\n";
  return out;
}

Verdict colour_of(const Answer& a) {
  if (!a.cause_found) return Verdict::kUnknown;
  return a.diagnosis.error.kind->nature == doctor::pasted::Nature::kNoMisfit ? Verdict::kDegraded : Verdict::kMisfit;
}

void add_error(std::string& out, const Answer& a, TextStyle style) {
  const Diagnosis& d = a.diagnosis;
  const doctor::pasted::ErrorClass& kind = *d.error.kind;
  const char* const nature = kind.nature == doctor::pasted::Nature::kNoMisfit     ? " (no misfit)"
                             : kind.nature == doctor::pasted::Nature::kHost       ? " (the machine, not you)"
                             : kind.nature == doctor::pasted::Nature::kOutOfScope ? " (out of scope)"
                                                                                  : "";
  out += painted(fmt::format("{}: {}{}", kind.code, kind.title, nature), colour_of(a), style) + "\n";
  out += fmt::format("  line {}: {}\n", d.error.line, d.error.text);
  if (!d.also_on.empty())
    out += fmt::format("  and again on {}{}\n", d.also_on.size() == 1 ? "line " : "lines ",
                       d.also_on.size() > 5 ? fmt::format("{} and {} more", d.also_on.front(), d.also_on.size() - 1)
                                            : fmt::format("{}", fmt::join(d.also_on, ", ")));
}

void add_lines(std::string& out, const char* head, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) out += fmt::format("{}: {}\n", head, line);
}

void add_leads(std::string& out, const Diagnosis& d) {
  for (const auto& herring : d.herrings)
    out += fmt::format("red herring: line {}: {}\n             {}\n", herring.line, herring.text, herring.why);
  for (const auto& other : d.others)
    out += fmt::format("{}: line {}: {} ({})\n", other.kind->consequence ? "a consequence" : "also in the text",
                       other.line, other.kind->title, other.kind->code);
}

/// "apex==0.1" of what is installed, else the file's name.
std::string title_of(const doctor::TargetReport& report) {
  return report.target.kind == doctor::TargetKind::kDistribution ? printable(report.target.target, 200)
                                                                 : name_of(report);
}

void add_evidence(std::string& out, const Answer& a) {
  if (!a.environment.empty()) out += fmt::format("looked at: {}\n", a.environment);
  for (const auto& culprit : a.evidence.culprits) {
    const auto& report = a.reports[culprit.report];
    std::size_t shown = 0, left = culprit.problems.size();
    for (const GroupedProblems& problems : grouped(culprit.problems)) {
      if (shown++ == kMostProblems) {
        out += fmt::format("         and {} more: flashfit doctor{} -v\n", left,
                           culprit.report < a.packages ? "" : " " + path_words(report.target.target));
        break;
      }
      left -= problems.count;
      out += fmt::format("culprit: {}: {}\n", title_of(report), problems.line);
    }
  }
  add_lines(out, "files", a.files.lines);
  std::size_t shown = 0;
  for (const std::size_t i : a.evidence.cleared) {
    if (shown++ == kMostCleared) {
      out += fmt::format("cleared: and {} more\n", a.evidence.cleared.size() - kMostCleared);
      break;
    }
    out += fmt::format("cleared: {}: nothing in it makes this error\n", title_of(a.reports[i]));
  }
  for (const std::size_t i : a.evidence.silent)
    if (!a.by_name && i >= a.packages && a.diagnosis.error.kind != nullptr)
      out += fmt::format("silent:  {} tells nothing of this error\n", name_of(a.reports[i]));
  const bool looked = !a.reports.empty() || !a.environment.empty();
  const char* const how = a.environment.empty() ? "given" : "looked at";
  if (looked && a.diagnosis.error.kind == nullptr) {
    out += a.evidence.culprits.empty() ? fmt::format("nothing of what was {} is a misfit by the rules for files\n", how)
                                       : "these are misfits in any case; whether one makes this error is not known\n";
  } else if (looked && !a.cause_found && !a.by_name) {
    out += fmt::format("none of what was {} explains it\n", how);
  }
}

/// What the text names, held against what is known.
void add_named(std::string& out, const Answer& a) {
  for (const auto& fact : a.named) out += fmt::format("the text names: {}\n", fact.line);
}

/// The one command, or what else to look for.
void add_mend(std::string& out, const Answer& a) {
  if (!a.look_for.empty()) out += fmt::format("look for: {}\n", a.look_for);
  if (!a.mend.empty()) out += fmt::format("try: {}\n", a.mend);
  if (!a.mend_why.empty()) out += fmt::format("     ({})\n", a.mend_why);
}

void add_end(std::string& out, const Answer& a) {
  if (!a.ask.empty()) out += fmt::format("to find the cause: {}\n", a.ask);
}

}  // namespace

std::string error_text(const Answer& a, const DoctorReport& report, TextStyle style) {
  const Diagnosis& d = a.diagnosis;
  std::string out;
  if (d.error.kind == nullptr) {
    out = unknown_error(d);
    add_mend(out, a);
    add_named(out, a);
    add_evidence(out, a);
    add_end(out, a);
  } else {
    add_error(out, a, style);
    add_mend(out, a);
    add_lines(out, "concluded", d.concluded);
    add_lines(out, "         ", a.remarks.lines);
    add_named(out, a);
    add_lines(out, "not told", a.evidence.culprits.empty() ? d.unknown : std::vector<std::string>());
    add_leads(out, d);
    add_evidence(out, a);
    add_end(out, a);
    out += fmt::format("page: flashfit doctor {}; source: {}\n", d.error.kind->code, d.error.kind->source);
  }
  if (d.left_out > 0)
    out += fmt::format("the first {} were not read: the text is too long\n", plural(d.left_out, "byte"));
  if (d.cut_lines > 0)
    out += fmt::format("{} longer than {} bytes: the rest of each was not read\n", plural(d.cut_lines, "line"),
                       doctor::pasted::kLongestLine);
  if (!d.whole) out += "not every likely line was looked at: there are too many\n";
  return out + asked_lines(report);
}

}  // namespace flashfit::cli
