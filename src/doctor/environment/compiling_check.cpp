// The command for an extension of PyTorch without code for the GPU: its own source, compiled for it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "doctor/environment/site.hpp"
#include "doctor/mends/compile_command.hpp"
#include "doctor/mends/mends.hpp"

namespace flashfit::doctor::environment {
namespace {

bool lacks_code(const std::vector<Problem>& problems) {
  return std::any_of(problems.begin(), problems.end(), [](const Problem& p) {
    return (p.code == "FF101" || p.code == "FF102") && p.severity > doctor::Severity::kNote;
  });
}

/// PyTorch's compiler takes any list of GPUs; code for one architecture alone was written for that.
bool takes_other_gpus(const Binary& binary) {
  return binary.extension.torch_abi != doctor::TorchAbi::kNone &&
         std::all_of(binary.containers.begin(), binary.containers.end(), [](const Container& c) {
           return c.entries.empty() || std::any_of(c.entries.begin(), c.entries.end(), [](const CodeEntry& e) {
                    return e.target.scope == TargetScope::kPlain;
                  });
         });
}

}  // namespace

void check_compiling(const Site& site, const Package& package, doctor::TargetReport& report) {
  const Distribution& d = package.distribution;
  if (!report.mend.empty() || site.question.survey || !lacks_code(report.problems)) return;
  if (d.version.empty() || d.name == "torch" || (d.by_url && d.source.empty() && !doctor::knows_source_of(d.name)))
    return;
  // Compiled anew it would refuse the GPU all the same.
  if (doctor::has_problem(report, {"FF710"})) return;
  std::set<ComputeCapability> capabilities;
  std::vector<CodeEntry> code;
  for (const doctor::AskedGpu& gpu : site.question.gpus)
    if (capabilities.insert(gpu.gpu.cc).second) code.push_back({.target = {.architecture = gpu.gpu.cc.decimal()}});
  doctor::Target compiled = report.target;
  for (Binary& binary : compiled.binaries) {
    if (binary.containers.empty()) continue;
    if (!takes_other_gpus(binary)) return;
    for (Container& container : binary.containers)
      if (!container.entries.empty()) container.entries = code;
  }
  if (lacks_code(doctor::problems_of(compiled, site.question))) return;
  report.mend = doctor::compile_command(
      {.name = d.name, .version = d.version.substr(0, d.version.find('+')), .origin = d.source, .is_installed = true},
      capabilities);
  if (report.mend.empty()) return;
  std::vector<std::string> list;
  for (const ComputeCapability cc : capabilities) list.push_back(cc.str());
  report.mend_why = fmt::format("compiles it for {}, if its source is made for that; it needs nvcc of torch's CUDA",
                                fmt::join(list, " and "));
}

}  // namespace flashfit::doctor::environment
