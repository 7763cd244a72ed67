#include "doctor/rules/on_purpose.hpp"

#include <algorithm>

#include "doctor/knowledge/cuda_libraries.hpp"
#include "doctor/knowledge/data.hpp"
#include "doctor/packaging/wheel_name.hpp"
#include "doctor/rules/coverage.hpp"

namespace flashfit::doctor {

namespace {

std::string package_of(const Target& target) {
  const auto name = parse_wheel_name(target.file_name);
  return name ? name->name : "";
}

/// Without code for any GPU of the question, on purpose.
bool is_for_others(const Binary& binary, const Question& question) {
  if (binary.containers.empty() || question.gpus.empty() || !lacks_on_purpose(binary, question)) return false;
  return std::all_of(question.gpus.begin(), question.gpus.end(), [&](const AskedGpu& gpu) {
    return GpuJudge(gpu, question.driver).cover(binary).summary.covered == 0;
  });
}

}  // namespace

bool chooses_itself(const Target& target) { return knowledge_data().chooses_itself(package_of(target)); }

bool lacks_on_purpose(const Binary& binary, const Question& question) {
  for (const AskedGpu& gpu : question.gpus) {
    const Coverage coverage = GpuJudge(gpu, question.driver).cover(binary);
    for (const Lack& lack : coverage.lacks) {
      const auto& entries = binary.containers[lack.container].entries;
      if (std::any_of(entries.begin(), entries.end(), [&](const CodeEntry& e) {
            return e.target.scope == TargetScope::kPlain && e.target.architecture <= gpu.gpu.cc.decimal();
          }))
        return false;
    }
  }
  return true;
}

void soften_on_purpose(const Target& target, const Question& question, std::span<Problem> problems) {
  if (!knowledge_data().does_without(package_of(target))) return;
  for (Problem& p : problems) {
    const bool whole = p.code == "FF101" || p.code == "FF401" || p.code == "FF402" || p.code == "FF222";
    if (!whole && p.code != "FF102") continue;
    p.severity = std::min(p.severity, Severity::kDegrades);
    const auto binary = std::find_if(target.binaries.begin(), target.binaries.end(),
                                     [&](const Binary& b) { return b.path == p.member; });
    if (binary == target.binaries.end()) continue;
    if (whole ? is_for_others(*binary, question) : lacks_on_purpose(*binary, question)) p.severity = Severity::kNote;
  }
}

bool is_of_nvidia(const Binary& binary) {
  const std::string file = binary.path.substr(binary.path.rfind('/') + 1);
  return find_cuda_library(name_before_repair(file), 0) != nullptr ||
         (!binary.soname.empty() && find_cuda_library(binary.soname, 0) != nullptr);
}

}  // namespace flashfit::doctor
