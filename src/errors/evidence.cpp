#include "errors/evidence.hpp"

#include <algorithm>

namespace flashfit::errors {
namespace {

using inspect::Problem;
using inspect::Severity;
using inspect::TargetReport;

std::string base_of(std::string_view path) {
  const std::size_t slash = path.find_last_of("/\\");
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

/// The file that the loader named; "".
std::string named_file(const Diagnosis& diagnosis) {
  const auto field = diagnosis.error.fields.find("file");
  return field == diagnosis.error.fields.end() ? "" : base_of(field->second);
}

bool holds(const TargetReport& report, const std::string& file) {
  if (base_of(report.target.target) == file || report.target.file_name == file) return true;
  return std::any_of(report.target.binaries.begin(), report.target.binaries.end(),
                     [&](const auto& binary) { return base_of(binary.path) == file; });
}

bool is_about_gpu_code(const ErrorClass& kind) {
  return std::find(kind.explained_by.begin(), kind.explained_by.end(), "FF101") != kind.explained_by.end();
}

bool has_gpu_code(const TargetReport& report) {
  return std::any_of(report.target.binaries.begin(), report.target.binaries.end(),
                     [](const auto& binary) { return !binary.containers.empty(); });
}

/// A problem that makes the error: of a kind that does, not a mere note, and about the file that was named.
bool explains(const Problem& problem, const ErrorClass& kind, const std::string& file) {
  if (problem.severity == Severity::kNote) return false;
  if (std::find(kind.explained_by.begin(), kind.explained_by.end(), problem.code) == kind.explained_by.end())
    return false;
  return file.empty() || problem.member.empty() || base_of(problem.member) == file;
}

/// Whether the report can clear its target of the error.
bool can_tell(const TargetReport& report, const ErrorClass& kind, const inspect::Question& question) {
  if (report.verdict == inspect::Verdict::kUnknown || !report.target.errors.empty()) return false;
  return !is_about_gpu_code(kind) || (has_gpu_code(report) && !question.gpus.empty());
}

}  // namespace

Evidence weigh(const Diagnosis& diagnosis, const std::vector<TargetReport>& reports,
               const inspect::Question& question) {
  Evidence evidence;
  if (diagnosis.error.kind == nullptr) return evidence;
  const ErrorClass& kind = *diagnosis.error.kind;
  // The file that the loader names decides where it is among the targets; sources of a launch name no library.
  std::string file = is_about_gpu_code(kind) ? "" : named_file(diagnosis);
  if (!std::any_of(reports.begin(), reports.end(), [&](const auto& r) { return holds(r, file); })) file.clear();
  for (std::size_t i = 0; i < reports.size(); ++i) {
    Culprit culprit{i, {}};
    for (const Problem& problem : reports[i].problems)
      if (explains(problem, kind, file)) culprit.problems.push_back(problem);
    if (!culprit.problems.empty()) {
      evidence.culprits.push_back(std::move(culprit));
    } else {
      (can_tell(reports[i], kind, question) ? evidence.cleared : evidence.silent).push_back(i);
    }
  }
  // What lacks all of its code goes before what lacks some.
  std::stable_sort(evidence.culprits.begin(), evidence.culprits.end(), [](const Culprit& a, const Culprit& b) {
    return a.problems.front().severity > b.problems.front().severity;
  });
  return evidence;
}

}  // namespace flashfit::errors
