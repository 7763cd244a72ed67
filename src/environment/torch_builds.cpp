#include "environment/torch_builds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "inspect/ascii.hpp"
#include "inspect/toolkit_versions.hpp"
#include "inspect/version.hpp"
#include "inspect/what_runs_where.hpp"

namespace flashfit::environment {
namespace {

using inspect::CodeEntry;
using inspect::Question;

// Source: PyTorch's release pages and its build script .ci/manywheel/build_cuda.sh at each release. Newest CUDA first.
struct Build {
  int minor, patch;  ///< 2.MINOR.PATCH
  CudaVersion cuda;
  int first_python, last_python;  ///< 3.x
  std::string_view targets;       ///< machine code; the last one with '+' has PTX, too
};
constexpr std::string_view kUntilHopper = "5.0 6.0 7.0 7.5 8.0 8.6 9.0",
                           kFromKepler = "3.7 5.0 6.0 7.0 7.5 8.0 8.6 9.0",
                           kFromVolta = "7.0 7.5 8.0 8.6 9.0 10.0 12.0", kFromTuring = "7.5 8.0 8.6 9.0 10.0 12.0+",
                           kVoltaAndPtx = "7.0 7.5 8.0 8.6 9.0 10.0 12.0+";
constexpr auto kBuilds = std::to_array<Build>({
    {10, 0, 13000, 10, 14, kFromTuring}, {10, 0, 12080, 10, 14, kFromVolta}, {10, 0, 12060, 10, 14, kUntilHopper},
    {9, 1, 13000, 10, 14, kFromTuring},  {9, 1, 12080, 10, 14, kFromVolta},  {9, 1, 12060, 10, 14, kUntilHopper},
    {8, 0, 12090, 9, 13, kVoltaAndPtx},  {8, 0, 12080, 9, 13, kFromVolta},   {8, 0, 12060, 9, 13, kUntilHopper},
    {7, 1, 12080, 9, 13, kFromTuring},   {7, 1, 12060, 9, 13, kUntilHopper}, {7, 1, 11080, 9, 13, kFromKepler},
    {6, 0, 12060, 9, 13, kUntilHopper},  {6, 0, 12040, 9, 13, kUntilHopper}, {6, 0, 11080, 9, 13, kFromKepler},
    {5, 1, 12040, 9, 12, kUntilHopper},  {5, 1, 12010, 9, 12, kUntilHopper}, {5, 1, 11080, 9, 12, kFromKepler},
    {4, 1, 12040, 8, 12, kUntilHopper},  {4, 1, 12010, 8, 12, kUntilHopper}, {4, 1, 11080, 8, 12, kFromKepler},
    {3, 1, 12010, 8, 12, kUntilHopper},  {3, 1, 11080, 8, 12, kFromKepler},  {2, 2, 12010, 8, 12, kUntilHopper},
    {2, 2, 11080, 8, 12, kFromKepler},   {1, 2, 12010, 8, 11, kUntilHopper}, {1, 2, 11080, 8, 11, kFromKepler},
    {0, 1, 11080, 8, 11, kFromKepler},
});

std::vector<CodeEntry> code_of(const Build& build) {
  std::vector<CodeEntry> code;
  for (std::string_view target : inspect::split(build.targets, ' ')) {
    const bool ptx = target.ends_with('+');
    if (ptx) target.remove_suffix(1);
    int architecture = 0;
    for (const char c : target)
      if (inspect::is_digit(c)) architecture = architecture * 10 + (c - '0');
    CodeEntry entry;
    entry.target.architecture = architecture;
    entry.toolkit = build.cuda;
    code.push_back(entry);
    if (!ptx) continue;
    entry.kind = CodeEntry::Kind::kPtx;
    entry.toolkit = 0;
    entry.ptx_isa = inspect::newest_ptx_for(build.cuda);
    code.push_back(entry);
  }
  return code;
}

bool serves(const Build& build, const Question& question) {
  if (question.python && question.python->major == 3 &&
      (question.python->minor < build.first_python || question.python->minor > build.last_python))
    return false;
  if (!inspect::toolkit_misfit(build.cuda, question.driver).empty()) return false;
  const std::vector<CodeEntry> code = code_of(build);
  return std::all_of(question.gpus.begin(), question.gpus.end(), [&](const inspect::AskedGpu& gpu) {
    return inspect::best_of(code, {gpu.gpu.name, gpu.gpu.cc, question.driver}).best != inspect::Best::kNo;
  });
}

/// The same minor first, then those before it, the newest first, then those behind it, the oldest first.
int distance(int minor, int from) { return minor <= from ? from - minor : 1000 + minor - from; }

}  // namespace

std::optional<TorchBuild> torch_build_for(const std::string& version, const Question& question) {
  const auto installed = inspect::parse_version(version);
  if (!installed || installed->release.size() < 2 || installed->release[0] != 2) return std::nullopt;
  const bool here = !question.platform || (question.platform->system == inspect::Platform::System::kGlibc &&
                                           question.platform->arch == "x86_64");
  if (!here) return std::nullopt;
  const int minor = static_cast<int>(std::min<std::uint64_t>(installed->release[1], 999));
  const Build* best = nullptr;
  for (const Build& build : kBuilds)
    if (serves(build, question) && (best == nullptr || distance(build.minor, minor) < distance(best->minor, minor)))
      best = &build;
  if (best == nullptr) return std::nullopt;
  const std::string index = fmt::format("cu{}{}", best->cuda / 1000, best->cuda % 1000 / 10);
  return TorchBuild{fmt::format("2.{}.{}+{}", best->minor, best->patch, index), index};
}

bool knows_torch(int major, int minor) { return major == 2 && minor <= kBuilds.front().minor; }

}  // namespace flashfit::environment
