#include "cli/doctor/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "core/base/printable.hpp"
#include "core/gpu/driver_versions.hpp"
#include "doctor/bytes/listing.hpp"
#include "doctor/facts/torch_facts.hpp"

namespace flashfit::cli {
namespace {

using doctor::Problem;
using doctor::Severity;
using doctor::TargetReport;
using doctor::Verdict;

constexpr std::size_t kMostLines = 12;  // of problems, without --verbose
constexpr std::size_t kLongestPath = 200;

const char* colour_of(Verdict verdict) {
  if (verdict == Verdict::kFits) return "\x1b[32m";
  return verdict == Verdict::kMisfit || verdict == Verdict::kHost ? "\x1b[31m" : "\x1b[33m";
}

const char* word_of(Severity severity) {
  constexpr const char* kWords[] = {"note", "WARN", "UNSURE", "HOST", "FAIL"};
  return kWords[static_cast<std::size_t>(severity)];
}

/// Problems that differ in their members alone, or in the library that these need.
struct Group {
  const Problem* problem;
  std::uint32_t line;
  std::vector<std::string> members;
  std::vector<std::string> libraries;  ///< of "needs LIBRARY, which ..."; none of other messages

  std::size_t count() const {
    return std::max<std::size_t>(members.size(), 1) * std::max<std::size_t>(libraries.size(), 1);
  }
};

constexpr std::string_view kNeeds = "needs ", kWhich = ", which ";

/// "libfoo.so.1" of "needs libfoo.so.1, which ..."; "" of other messages.
std::string_view library_of(std::string_view message) {
  if (!message.starts_with(kNeeds)) return "";
  const std::string_view rest = message.substr(kNeeds.size());
  const std::size_t end = std::min(rest.find(kWhich), rest.find(' '));
  return rest.substr(std::min(end, rest.size())).starts_with(kWhich) ? rest.substr(0, end) : "";
}

/// Groups of the same members with one thing wrong with several libraries are one.
std::vector<Group> by_library(std::vector<Group> groups) {
  std::vector<Group> out;
  std::map<std::tuple<std::string_view, Severity, std::uint32_t, std::vector<std::string>, std::string_view>,
           std::size_t>
      known;
  for (Group& group : groups) {
    const std::string_view message = group.problem->message, library = library_of(message);
    if (!library.empty()) {
      const std::string_view rest = message.substr(kNeeds.size() + library.size());
      const auto [at, fresh] = known.try_emplace(
          {group.problem->code, group.problem->severity, group.line, group.members, rest}, out.size());
      if (!fresh) {
        out[at->second].libraries.emplace_back(library);
        continue;
      }
      group.libraries.emplace_back(library);
    }
    out.push_back(std::move(group));
  }
  return out;
}

/// In the order of their first ones; each problem a group of its own where `apart`.
std::vector<Group> groups_of(const std::vector<Problem>& problems, std::span<const std::uint32_t> lines, bool apart) {
  std::vector<Group> groups;
  std::map<std::tuple<std::string_view, Severity, std::string_view, std::uint32_t>, std::size_t> known;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const Problem& p = problems[i];
    const std::uint32_t line = i < lines.size() ? lines[i] : 0;
    const auto [at, fresh] = known.try_emplace({p.code, p.severity, p.message, line}, groups.size());
    if (fresh || apart || p.member.empty()) {
      at->second = groups.size();
      groups.push_back({&p, line, {}, {}});
    }
    if (!p.member.empty()) groups[at->second].members.push_back(path_words(p.member));
  }
  return apart ? groups : by_library(std::move(groups));
}

std::string message_of(const Group& group) {
  const std::string& message = group.problem->message;
  if (group.libraries.size() < 2) return message;
  return fmt::format("{}{}{}", kNeeds, doctor::listed(group.libraries),
                     message.substr(kNeeds.size() + group.libraries.front().size()));
}

/// "a.so, b.so and 2 more: "; "" of the whole.
std::string members_of(const Group& group) { return group.members.empty() ? "" : doctor::listed(group.members) + ": "; }

std::string line_of(const Group& group) {
  const Problem& p = *group.problem;
  const std::string where = group.line == 0 ? "" : fmt::format("line {}: ", group.line);
  return fmt::format("  {:<6} {}  {}{}{}\n", word_of(p.severity), p.code, where, members_of(group), message_of(group));
}

}  // namespace

std::string path_words(const std::string& path) { return printable(path, kLongestPath); }

std::string painted(const std::string& text, Verdict verdict, TextStyle style) {
  return style.colour ? colour_of(verdict) + text + "\x1b[0m" : text;
}

std::string name_of(const TargetReport& r) {
  return path_words(r.target.file_name.empty() ? r.target.target : r.target.file_name);
}

std::string for_gpus(const DoctorReport& report) {
  if (report.question.survey) return "";
  std::vector<std::string> names;
  for (const auto& gpu : report.question.gpus) names.push_back(gpu_words(gpu));
  return names.empty() ? "" : fmt::format(" on {}", fmt::join(names, ", "));
}

namespace {

/// " on L4 (8.9), T4 (7.5)": the GPUs that have this verdict; all where it is one for all.
std::string on_those(const TargetReport& r, const DoctorReport& report, Verdict verdict) {
  if (r.by_gpu.empty()) return r.verdict == verdict ? for_gpus(report) : "";
  std::vector<std::string> names;
  for (std::size_t g = 0; g < r.by_gpu.size(); ++g)
    if (r.by_gpu[g] == verdict) names.push_back(gpu_words(report.question.gpus[g]));
  // No GPU alone may be as bad as all are together: then it is about all.
  if (names.empty()) return r.verdict == verdict ? for_gpus(report) : "";
  return fmt::format(" on {}", fmt::join(names, ", "));
}

/// "; it fits on H100 (9.0)": GPUs that fare better than the worst.
std::string on_others(const TargetReport& r, const DoctorReport& report) {
  std::string out;
  for (const auto& [verdict, words] : {std::pair{Verdict::kDegraded, "; in part"}, {Verdict::kFits, "; it fits"}})
    if (const std::string where = on_those(r, report, verdict); r.verdict != verdict && !where.empty())
      out += words + where;
  return out;
}

std::string sentence_of_worst(const TargetReport& r, const DoctorReport& report) {
  std::string name = name_of(r);
  const std::string where = on_those(r, report, r.verdict);
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

}  // namespace

std::string sentence(const TargetReport& r, const DoctorReport& report) {
  return sentence_of_worst(r, report) + on_others(r, report);
}

std::string problem_lines(const TargetReport& r, TextStyle style, std::span<const std::uint32_t> lines) {
  std::string out;
  std::size_t shown = 0, hidden = 0, notes = 0;
  for (const Group& group : groups_of(r.problems, lines, style.verbose)) {
    const std::size_t count = group.count();
    if (!style.verbose && group.problem->severity == Severity::kNote) {
      notes += count;
    } else if (!style.verbose && shown == kMostLines) {
      hidden += count;
    } else {
      out += line_of(group);
      ++shown;
    }
  }
  if (hidden > 0) out += fmt::format("  and {} more: -v shows them\n", hidden);
  if (notes > 0 && r.verdict != Verdict::kFits)
    out += fmt::format("  {}: -v shows {}\n", notes == 1 ? "1 note" : fmt::format("{} notes", notes),
                       notes == 1 ? "it" : "them");
  return out;
}

std::vector<GroupedProblems> grouped(const std::vector<Problem>& problems) {
  std::vector<GroupedProblems> lines;
  for (const Group& group : groups_of(problems, {}, false))
    lines.push_back({fmt::format("{}{} {}", members_of(group), group.problem->code, message_of(group)), group.count()});
  return lines;
}

std::string mend_lines(const TargetReport& r) {
  if (!r.mend.empty()) return fmt::format("try: {}\n     ({})\n", r.mend, r.mend_why);
  return r.look_for.empty() ? "" : fmt::format("look for: {}\n", r.look_for);
}

bool wants_colour() {
  const char* no = std::getenv("NO_COLOR");    // NOLINT(concurrency-mt-unsafe): nothing here sets variables
  const char* terminal = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe)
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return isatty(STDOUT_FILENO) != 0 && (no == nullptr || *no == '\0') && !dumb;
}

std::string gpu_words(const doctor::AskedGpu& gpu) {
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

std::string asked_lines(const DoctorReport& report) {
  std::string out = "asked: " + asked_words(report) + "\n";
  for (const std::string& line : report.assumed) out += "       " + line + "\n";
  return out;
}

}  // namespace flashfit::cli
