#include "inspect/doctor.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "inspect/add_kernel_names.hpp"
#include "inspect/coverage.hpp"
#include "inspect/facts_cache.hpp"
#include "inspect/mend.hpp"
#include "inspect/wheel_name.hpp"

namespace flashfit::inspect {
namespace {

using Numbers = std::vector<std::size_t>;

/// Containers, by binary, of a partly served library that lack an image for some GPU and whose kernels are not known.
std::map<std::size_t, Numbers> unnamed(const Target& target, const Library& library, std::vector<GpuJudge>& judges,
                                       std::size_t most) {
  std::map<std::size_t, Numbers> which;
  std::size_t count = 0;
  for (GpuJudge& judge : judges) {
    const LibraryCoverage c = judge.cover(target, library);
    if (c.covered == 0) continue;
    for (const auto& [binary, lack] : c.lacks) {
      if (count == most || !target.binaries[binary].containers[lack.container].kernels.empty()) continue;
      Numbers& numbers = which[binary];
      if (std::find(numbers.begin(), numbers.end(), lack.container) != numbers.end()) continue;
      numbers.push_back(lack.container);
      ++count;
    }
  }
  return which;
}

/// Whether names were read.
bool add_names(Target& target, const Question& question, const DoctorOptions& options) {
  // A survey is about GPUs, not about kernels.
  if (question.survey) return false;
  bool added = false;
  std::vector<GpuJudge> judges;
  for (const AskedGpu& gpu : question.gpus) judges.emplace_back(gpu, question.driver);
  for (const Library& library : libraries_of(target))
    for (const auto& [binary, which] : unnamed(target, library, judges, options.kernels)) {
      if (which.empty()) continue;
      add_kernel_names(target.target, target, binary, which);
      added = true;
    }
  return added;
}

TargetReport examine_one(Target target, const Question& question, const DoctorOptions& options, const FactsCache& cache,
                         bool fresh) {
  const bool file = target.kind != TargetKind::kDirectory;
  const bool sound = target.errors.empty();
  const bool named = add_names(target, question, options);
  if (file && sound && (fresh || named)) cache.keep(target.target, target);
  return judge(std::move(target), question);
}

}  // namespace

std::vector<TargetReport> examine(const std::vector<std::string>& targets, const Question& question,
                                  const DoctorOptions& options) {
  const FactsCache cache(options.cache);
  std::vector<TargetReport> reports;
  std::vector<std::string> left(targets.rbegin(), targets.rend());
  while (!left.empty()) {
    const std::string path = std::move(left.back());
    left.pop_back();
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
      std::vector<std::string> packages;
      Target target = read_directory(path, packages, options.progress);
      left.insert(left.end(), packages.rbegin(), packages.rend());
      // A folder of wheels is its wheels.
      if (packages.empty() || !target.binaries.empty() || !target.errors.empty())
        reports.push_back(examine_one(std::move(target), question, options, cache, false));
      continue;
    }
    auto known = cache.find(path);
    const bool fresh = !known;
    reports.push_back(
        examine_one(known ? std::move(*known) : read_file(path, options.progress), question, options, cache, fresh));
  }
  add_mends(reports, question);
  return reports;
}

std::vector<TargetReport> examine_names(const std::vector<std::string>& names, const Question& question) {
  std::vector<TargetReport> reports;
  for (const std::string& given : names) {
    const std::string name = with_plus(given);
    Target target{
        .target = name, .file_name = std::filesystem::path(name).filename().string(), .kind = TargetKind::kName};
    reports.push_back(judge(std::move(target), question));
  }
  return reports;
}

}  // namespace flashfit::inspect
