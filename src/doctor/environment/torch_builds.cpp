#include "doctor/environment/torch_builds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "doctor/gpu_code/toolkit_versions.hpp"
#include "doctor/gpu_code/what_runs_where.hpp"
#include "doctor/knowledge/torch_releases.hpp"

namespace flashfit::doctor::environment {
namespace {

bool serves(const TorchRelease& release, CudaVersion cuda, const Question& question) {
  if (!doctor::toolkit_misfit(cuda, question.driver).empty()) return false;
  const auto code = doctor::code_of_torch(release, cuda);
  return !code.empty() && std::all_of(question.gpus.begin(), question.gpus.end(), [&](const doctor::AskedGpu& gpu) {
    return doctor::best_of(code, {gpu.gpu.name, gpu.gpu.cc, question.driver}).best != doctor::Best::kNo;
  });
}

bool takes_python(const TorchRelease& release, const Question& question) {
  return !question.python || question.python->major != 3 ||
         (question.python->minor >= release.first_python && question.python->minor <= release.last_python);
}

/// The newest CUDA among the release's builds that serves, one that the driver is not older than before others; 0 if
/// none does.
CudaVersion best_build(const TorchRelease& release, const Question& question) {
  CudaVersion best = 0;
  if (!takes_python(release, question)) return best;
  const auto rank = [&](CudaVersion cuda) { return std::pair(cuda <= question.driver, cuda); };
  for (const CudaVersion cuda : release.cuda)
    if (serves(release, cuda, question) && (best == 0 || rank(cuda) > rank(best))) best = cuda;
  return best;
}

/// The same minor first, then those before it, the newest first, then those behind it, the oldest first.
std::uint64_t distance(std::uint64_t minor, std::uint64_t from) {
  constexpr std::uint64_t kBehind = 1000;
  return minor <= from ? from - minor : kBehind + minor - from;
}

}  // namespace

std::optional<TorchBuild> torch_build_for(const std::string& version, const Question& question) {
  const auto installed = doctor::parse_version(version);
  if (!installed || installed->release.size() < 2 || installed->release[0] != 2) return std::nullopt;
  const bool here = !question.platform || (question.platform->system == doctor::Platform::System::kGlibc &&
                                           question.platform->arch == "x86_64");
  if (!here) return std::nullopt;
  const std::uint64_t minor = std::min<std::uint64_t>(installed->release[1], 999);
  const TorchRelease* best = nullptr;
  CudaVersion best_cuda = 0;
  for (const TorchRelease& release : doctor::torch_releases()) {
    if (release.major != 2 || (best != nullptr && distance(release.minor, minor) > distance(best->minor, minor)))
      continue;
    const CudaVersion cuda = best_build(release, question);
    if (cuda == 0) continue;
    best = &release;
    best_cuda = cuda;
  }
  if (best == nullptr) return std::nullopt;
  const std::string index = fmt::format("cu{}{}", best_cuda / 1000, best_cuda % 1000 / 10);
  return TorchBuild{best->str() + "+" + index, index};
}

}  // namespace flashfit::doctor::environment
