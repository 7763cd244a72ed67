#include "doctor/rules/judge.hpp"

#include <algorithm>
#include <set>

#include "core/base/ascii.hpp"
#include "doctor/bytes/limits.hpp"
#include "doctor/packaging/wheel_name.hpp"
#include "doctor/rules/all_checks.hpp"
#include "doctor/rules/checks.hpp"
#include "doctor/rules/on_purpose.hpp"
#include "doctor/rules/picked_by_cuda.hpp"

namespace flashfit::doctor {
namespace {

/// "GLIBC_2.34" -> {2, 34}.
std::pair<int, int> glibc_version(std::string_view version) {
  constexpr std::string_view kPrefix = "GLIBC_";
  if (!version.starts_with(kPrefix)) return {0, 0};
  const auto parts = split(version.substr(kPrefix.size()), '.');
  if (parts.size() < 2) return {0, 0};
  const auto number = [](std::string_view text) {
    int n = 0;
    for (const char c : text.substr(0, 4)) n = is_digit(c) ? n * 10 + (c - '0') : n;
    return n;
  };
  return {number(parts[0]), number(parts[1])};
}

std::pair<int, int> floor_of(const Binary& binary) {
  std::pair<int, int> highest{0, 0};
  for (const VersionNeed& need : binary.versions) highest = std::max(highest, glibc_version(need.version));
  return highest;
}

std::string str(std::pair<int, int> version) {
  return version.first == 0 ? "" : std::to_string(version.first) + "." + std::to_string(version.second);
}

/// Of check_gpu_code, check_driver and check_label.
bool about_gpu(const Problem& p) { return p.code.starts_with("FF10"); }

/// In a survey some GPU is always too old: as long as one is served, the others are news, not problems.
void soften(const Target& target, const Question& question, std::vector<Problem>& problems) {
  const bool served = std::any_of(question.gpus.begin(), question.gpus.end(), [&](const AskedGpu& gpu) {
    Question one = question;
    one.gpus = {gpu};
    one.survey = false;
    std::vector<Problem> found;
    for (const Check check : {check_gpu_code, check_driver, check_label}) check(target, one, found);
    return std::none_of(found.begin(), found.end(),
                        [](const Problem& p) { return about_gpu(p) && p.severity > Severity::kDegrades; });
  });
  if (served)
    for (Problem& p : problems)
      if (about_gpu(p)) p.severity = Severity::kNote;
}

/// Where several GPUs were asked for and not all is well: some may be served all the same.
std::vector<Verdict> verdicts_by_gpu(const Target& target, const Question& question) {
  std::vector<Verdict> verdicts;
  Question one = question;
  for (const AskedGpu& gpu : question.gpus) {
    one.gpus = {gpu};
    verdicts.push_back(verdict_of(problems_of(target, one)));
  }
  return verdicts;
}

}  // namespace

std::string glibc_floor(const Binary& binary) { return str(floor_of(binary)); }

std::vector<Problem> problems_of(const Target& target, const Question& question) {
  std::vector<Problem> problems;
  for (const Check check : checks()) check(target, question, problems);
  if (question.survey) soften(target, question, problems);
  soften_on_purpose(target, question, problems);
  judge_picked_by_cuda(target, question, problems);
  std::stable_sort(problems.begin(), problems.end(),
                   [](const Problem& a, const Problem& b) { return a.severity > b.severity; });
  return problems;
}

Verdict verdict_of(const std::vector<Problem>& problems) {
  Verdict verdict = Verdict::kFits;
  for (const Problem& p : problems) verdict = std::max(verdict, verdict_of(p.severity));
  return verdict;
}

TargetReport judge(Target target, const Question& question) {
  TargetReport report;
  report.problems = problems_of(target, question);
  report.verdict = verdict_of(report.problems);
  if (const std::size_t found = report.problems.size(); found > limits::kProblems.most) {
    report.problems.resize(limits::kProblems.most);
    report.problems.push_back({"FF901", Severity::kNote,
                               fmt::format("{} beyond the limit of {}: {} more were left out", limits::kProblems.what,
                                           limits::kProblems.most, found - limits::kProblems.most),
                               "", ""});
  }
  if (report.verdict != Verdict::kFits && question.gpus.size() > 1 && !question.survey)
    report.by_gpu = verdicts_by_gpu(target, question);
  std::pair<int, int> glibc{0, 0};
  std::vector<GpuJudge> judges;
  for (const AskedGpu& gpu : question.gpus) judges.emplace_back(gpu, question.driver, &target);
  for (const Binary& binary : target.binaries) {
    auto& row = report.coverage.emplace_back();
    for (GpuJudge& judge : judges) row.push_back(judge.cover(binary).summary);
    glibc = std::max(glibc, floor_of(binary));
  }
  report.glibc = str(glibc);
  if (const auto name = parse_wheel_name(target.file_name);
      name && (target.kind == TargetKind::kWheel || target.kind == TargetKind::kName)) {
    // The last three parts of the name, as written.
    const std::string stem = target.file_name.substr(0, target.file_name.size() - 4);
    std::size_t at = stem.size();
    for (int i = 0; i < 3; ++i) at = stem.rfind('-', at - 1);
    report.tags = stem.substr(at + 1);
  }
  report.target = std::move(target);
  return report;
}

Verdict worst(const std::vector<TargetReport>& reports) {
  Verdict verdict = Verdict::kFits;
  for (const TargetReport& r : reports) verdict = std::max(verdict, r.verdict);
  return verdict;
}

}  // namespace flashfit::doctor
