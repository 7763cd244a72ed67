// The command for an extension that was built against another PyTorch: part one's rules name what is missing (FF401,
// FF402, FF406), and here the release for the PyTorch that is there, or its source, can be had. Never another PyTorch:
// the others are built against the one that is there.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "doctor/environment/site.hpp"
#include "doctor/facts/torch_facts.hpp"
#include "doctor/gpu_code/toolkit_gpus.hpp"
#include "doctor/mends/compile_command.hpp"
#include "doctor/mends/mends.hpp"

namespace flashfit::doctor::environment {

void check_torch_extension(const Site& site, const Package& package, doctor::TargetReport& report) {
  const Distribution& d = package.distribution;
  const bool other_torch = std::any_of(report.problems.begin(), report.problems.end(), [](const doctor::Problem& p) {
    return (p.code == "FF401" || p.code == "FF402" || p.code == "FF406") && p.severity == doctor::Severity::kMisfit;
  });
  if (!other_torch || !report.mend.empty() || d.version.empty()) return;
  if (const auto mend = doctor::mend_by_release(report, site.question)) {
    report.mend = mend->command;
    report.mend_why = mend->why;
    return;
  }
  // Without the local part: the maker's own label of the build that is wrong here.
  const std::string release = d.version.substr(0, d.version.find('+'));
  std::set<ComputeCapability> gpus;
  const bool has_code = std::any_of(report.target.binaries.begin(), report.target.binaries.end(),
                                    [](const doctor::Binary& b) { return !b.containers.empty(); });
  if (has_code && !site.question.survey)
    for (const doctor::AskedGpu& gpu : site.question.gpus) gpus.insert(gpu.gpu.cc);
  // It is compiled by the tools of PyTorch's own CUDA.
  const CudaVersion toolkit = site.question.torch ? doctor::cuda_of(*site.question.torch) : 0;
  if (std::any_of(gpus.begin(), gpus.end(), [&](auto gpu) { return !doctor::toolkit_knows(toolkit, gpu); })) return;
  report.mend =
      doctor::compile_command({.name = d.name, .version = release, .origin = d.source, .is_installed = true}, gpus);
  if (report.mend.empty()) return;
  report.mend_why =
      fmt::format("compiles it against torch {}; it needs a compiler{}, and its source where the index has it",
                  site.torch_version(), has_code ? " and nvcc of torch's CUDA" : "");
  // Makers that name the C++ ABI in their wheels build both.
  std::string wheel = d.version;
  constexpr std::string_view kOld = "cxx11abiFALSE", kNew = "cxx11abiTRUE";
  const bool is_old = wheel.find(kOld) != std::string::npos;
  const std::string_view label = is_old ? kOld : kNew;
  const std::size_t at = wheel.find(label);
  const bool other_abi = doctor::has_problem(report, {"FF401"});
  if (at == std::string::npos || !other_abi) return;
  report.mend_why +=
      "; or, where its maker has it, the wheel of " + wheel.replace(at, label.size(), is_old ? kNew : kOld);
}

}  // namespace flashfit::doctor::environment
