#include "cli/doctor/environment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/doctor/words.hpp"
#include "core/base/printable.hpp"
#include "core/gpu/driver_versions.hpp"

namespace flashfit::cli {
namespace {

using doctor::Problem;
using doctor::Severity;
using doctor::Verdict;
using doctor::environment::DriverAnswer;
using doctor::environment::Environment;
using doctor::environment::PackageReport;

constexpr std::size_t kMostNames = 3, kMostCleared = 12;

std::string title(const PackageReport& r) { return r.version.empty() ? r.name : r.name + " " + r.version; }

std::string where(const Environment& found) {
  const char* const kind = name_of(found.prefix.kind);
  return found.prefix.kind == doctor::environment::Prefix::Kind::kNone
             ? "this machine"
             : fmt::format("{} ({})", path_words(found.prefix.path), kind);
}

/// "venv (venv) does not fit on L40 (8.9): apex 0.1".
std::string headline(const Environment& found, const DoctorReport& report) {
  const std::string on = for_gpus(report);
  std::vector<std::string> names;
  for (const PackageReport& r : found.packages)
    if (r.report.verdict == found.verdict) names.push_back(title(r));
  for (const Problem& p : found.problems)
    if (verdict_of(p.severity) == found.verdict && found.verdict != Verdict::kFits && names.empty())
      names.push_back(p.message);
  const std::size_t more = names.size() - std::min(names.size(), kMostNames);
  if (more > 0) names.resize(kMostNames);
  const std::string who =
      fmt::format("{}{}", fmt::join(names, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
  switch (found.verdict) {
    case Verdict::kFits:
      return fmt::format("{} fits{}", where(found), on);
    case Verdict::kDegraded:
      return fmt::format("{} works in part{}: {}", where(found), on, who);
    case Verdict::kUnknown:
      return fmt::format("cannot tell whether {} fits{}: {}", where(found), on, who);
    case Verdict::kHost:
      return fmt::format("the host is at fault, and nothing in {} helps: {}", where(found), who);
    case Verdict::kMisfit:
      return fmt::format("{} does not fit{}: {}", where(found), on, who);
  }
  return "";
}

void add_problems(std::string& out, const std::vector<Problem>& problems, TextStyle style) {
  doctor::TargetReport lines;
  lines.problems = problems;
  lines.verdict = doctor::verdict_of(problems);
  out += problem_lines(lines, style);
  for (const Problem& p : problems)
    if (p.severity != Severity::kNote && !p.fix.empty()) out += fmt::format("would help: {}\n", p.fix);
}

void add_culprit(std::string& out, const PackageReport& r, std::size_t number, TextStyle style) {
  out +=
      painted(fmt::format("{}. {}: {}", number, title(r), name_of(r.report.verdict)), r.report.verdict, style) + "\n";
  // That of the first stands below the verdict.
  if (!r.report.mend.empty() && number > 1)
    out += fmt::format("     try: {}\n          ({})\n", r.report.mend, r.report.mend_why);
  out += problem_lines(r.report, style);
  if (!r.report.mend.empty()) return;
  std::vector<std::string> fixes;
  for (const Problem& p : r.report.problems)
    if (p.severity != Severity::kNote && !p.fix.empty() &&
        std::find(fixes.begin(), fixes.end(), p.fix) == fixes.end() && fixes.size() < 3)
      fixes.push_back(p.fix);
  if (!fixes.empty()) out += fmt::format("     would fit: {}\n", fmt::join(fixes, "; and "));
}

/// A line of the packages' names: of very many the first ones.
void add_names(std::string& out, const char* label, const Environment& found, bool (PackageReport::*counts)() const,
               TextStyle style, const char* remark) {
  std::vector<std::string> names;
  for (const PackageReport& r : found.packages)
    if ((r.*counts)()) names.push_back(title(r));
  if (names.empty()) return;
  // Those that one has to do with before the libraries that they bring.
  std::stable_partition(names.begin(), names.end(), [](const std::string& n) { return !n.starts_with("nvidia-"); });
  const std::size_t more = style.verbose ? 0 : names.size() - std::min(names.size(), kMostCleared);
  names.resize(names.size() - more);
  out += fmt::format("{}: {}{}{}\n", label, fmt::join(names, ", "), more == 0 ? "" : fmt::format(" and {} more", more),
                     remark);
}

std::string driver_words(const DriverAnswer& d) {
  using State = DriverAnswer::State;
  if (d.state == State::kNotAsked) return "not asked: another machine was described";
  if (d.state == State::kNoLibrary) return "none: " + d.why;
  if (d.state != State::kAnswered) return d.why;
  std::string text = fmt::format("{}{}", d.version.empty() ? "of unknown version" : d.version,
                                 d.cuda == 0 ? "" : " (CUDA " + str(d.cuda) + ")");
  if (!d.path.empty()) text += " by " + d.path;
  return d.status == 0 ? text : text + "; " + d.why;
}

void add_system(std::string& out, const Environment& found, TextStyle style) {
  const doctor::environment::System& s = found.system;
  std::vector<std::string> parts;
  if (!s.os.empty()) parts.push_back(s.os);
  if (!s.glibc.empty()) parts.push_back("glibc " + s.glibc);
  if (s.x86_level != 0)
    parts.push_back(fmt::format("{} (x86-64-v{})", s.processor.empty() ? "processor" : s.processor, s.x86_level));
  if (!s.container.empty()) parts.push_back("in a container (" + s.container + ")");
  out += "driver: " + driver_words(s.driver) + "\n";
  for (const doctor::environment::LiveGpu& gpu : s.driver.gpus)
    out += fmt::format("   GPU: {} ({}){}{}\n", gpu.name, gpu.cc.str(), gpu.mig() ? ", a MIG instance" : "",
                       s.driver.launched ? ", an empty kernel ran" : "");
  if (!style.verbose) return;
  if (!parts.empty()) out += fmt::format("system: {}\n", fmt::join(parts, ", "));
  for (const doctor::environment::DriverFile& file : s.driver_files)
    out += fmt::format("        libcuda in {} ({})\n", file.path, name_of(file.origin));
  for (const doctor::environment::CudaTool& tool : s.tools)
    out += fmt::format(" tools: {} of CUDA {}{}: {}\n", name_of(tool.kind),
                       tool.version == 0 ? "unknown version" : str(tool.version),
                       tool.package.empty() ? "" : " in " + tool.package, tool.path);
  out += fmt::format(
      "Python: {}; {} packages, {} of them with GPU code, extensions of torch or NVIDIA's libraries; {} files\n",
      found.prefix.python.empty() ? "unknown" : found.prefix.python, found.installed,
      std::count_if(found.packages.begin(), found.packages.end(), [](const auto& r) { return r.concerned(); }),
      found.files);
}

}  // namespace

std::string environment_text(const Environment& found, const DoctorReport& report, TextStyle style) {
  std::string out = painted(headline(found, report), found.verdict, style) + "\n";
  if (!found.packages.empty() && found.packages.front().report.verdict != Verdict::kFits)
    out += mend_lines(found.packages.front().report);
  add_problems(out, found.problems, style);
  std::size_t number = 0;
  for (const PackageReport& r : found.packages) {
    if (r.report.verdict == Verdict::kFits && (!style.verbose || r.report.problems.empty())) continue;
    add_culprit(out, r, ++number, style);
  }
  add_names(out, "cleared", found, &PackageReport::cleared, style, "");
  add_names(out, "not cleared", found, &PackageReport::not_cleared, style,
            style.verbose ? "" : " (-v prints why it may fail)");
  for (const std::string& line : found.unread) out += fmt::format("unread: {}\n", printable(line, 300));
  add_system(out, found, style);
  return out + asked_lines(report);
}

}  // namespace flashfit::cli
