// FF705, FF706: packages that compile GPU code when they run, and the compiler that they would use.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/base/ascii.hpp"
#include "core/gpu/driver_versions.hpp"
#include "doctor/environment/site.hpp"
#include "doctor/gpu_code/toolkit_gpus.hpp"
#include "doctor/knowledge/package_rows.hpp"
#include "doctor/knowledge/picked_cuda.hpp"
#include "doctor/mends/mends.hpp"
#include "doctor/rules/bundled_ptxas.hpp"

namespace flashfit::doctor::environment {
namespace {

using Kind = Knowledge::Kind;
using doctor::GpuCompiler;

/// The oldest nvcc that the row names for the GPU ("12.0:12.9"), else the oldest that knows it.
CudaVersion nvcc_for(const Knowledge& row, ComputeCapability gpu) {
  CudaVersion least = doctor::first_toolkit_for(gpu);
  for (const std::string_view part : split(row.gpus, ' ')) {
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos || part.substr(0, colon) != gpu.str()) continue;
    int major = 0, minor = 0;
    const char* const end = part.data() + part.size();
    const auto first = std::from_chars(part.data() + colon + 1, end, major);
    if (first.ptr != end) std::from_chars(first.ptr + 1, end, minor);
    least = std::max(least, major * 1000 + minor * 10);
  }
  return least;
}

const CudaTool* newest(const Site& site, GpuCompiler kind, bool of_toolkits) {
  const CudaTool* best = nullptr;
  for (const CudaTool& tool : site.tools)
    if (tool.kind == kind && tool.package.empty() == of_toolkits && (best == nullptr || tool.version > best->version))
      best = &tool;
  return best;
}

void with_ptxas(const Site& site, const Knowledge& row, const AskedGpu& gpu, doctor::TargetReport& report) {
  auto misfit = doctor::ptxas_misfit(row, report.target, gpu);
  if (!misfit) return;
  const CudaTool* const other = newest(site, GpuCompiler::kPtxas, true);
  const bool helps = other != nullptr && other->version != 0 && doctor::toolkit_knows(other->version, gpu.gpu.cc);
  if (helps) misfit->fix = fmt::format("{}={}", row.other, other->path);
  report.problems.push_back(std::move(*misfit));
  if (!helps || !report.mend.empty()) return;
  report.mend = fmt::format("export {}={}", row.other, doctor::shell_word(other->path));
  report.mend_why = fmt::format("makes it compile with the ptxas of CUDA {} that is installed, which knows {}",
                                str(other->version), gpu_text(gpu));
}

void with_nvcc(const Site& site, const Package& package, const Knowledge& row, const AskedGpu& gpu,
               doctor::TargetReport& report) {
  if (!row.other.empty() && site.find(row.other) != nullptr) return;
  const CudaVersion least = nvcc_for(row, gpu.gpu.cc);
  const CudaTool* const nvcc = newest(site, GpuCompiler::kNvcc, true);
  if (nvcc != nullptr &&
      (nvcc->version == 0 || (nvcc->version >= least && doctor::toolkit_knows(nvcc->version, gpu.gpu.cc))))
    return;
  const std::string& version = package.distribution.version;
  report.problems.push_back(
      {"FF706", Severity::kDegrades,
       fmt::format("compiles kernels when it runs, with nvcc of CUDA {} or later for {}; there is {}", str(least),
                   gpu_text(gpu),
                   nvcc == nullptr ? "none" : fmt::format("CUDA {} in {}", str(nvcc->version), nvcc->path)),
       "",
       row.fix.empty() ? fmt::format("a CUDA toolkit {} or later in CUDA_HOME", str(least)) : std::string(row.fix)});
  if (row.other.empty() || !report.mend.empty()) return;
  std::string from;
  if (!row.index.empty()) {
    const std::string cuda = cuda_digits(site.torch_version());
    const auto known = split(row.cudas, ' ');
    if (std::find(known.begin(), known.end(), cuda) == known.end()) return;
    from = fmt::format(" --index-url {}", std::string(row.index).replace(row.index.find('*'), 1, cuda));
  }
  report.mend = fmt::format("pip install {}=={}{}", row.other, version, from);
  report.mend_why = "brings what would be compiled, so that no nvcc is needed for most of it";
}

}  // namespace

void check_compilers(const Site& site, const Package& package, doctor::TargetReport& report) {
  const Distribution& d = package.distribution;
  if (site.question.survey) return;
  for (const AskedGpu& gpu : site.question.gpus) {
    for (const Knowledge* const row : known_of(d.name, d.version, Kind::kCompilesWithPtxas))
      with_ptxas(site, *row, gpu, report);
    for (const Knowledge* const row : known_of(d.name, d.version, Kind::kCompilesWithNvcc))
      with_nvcc(site, package, *row, gpu, report);
  }
}

}  // namespace flashfit::doctor::environment
