#include "doctor/rules/bundled_ptxas.hpp"

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "core/gpu/driver_versions.hpp"
#include "doctor/gpu_code/gpu_compiler.hpp"
#include "doctor/gpu_code/toolkit_gpus.hpp"
#include "doctor/packaging/wheel_name.hpp"
#include "doctor/rules/all_checks.hpp"

namespace flashfit::doctor {

std::optional<Problem> ptxas_misfit(const Knowledge& row, const Target& target, const AskedGpu& gpu) {
  const Binary* bundled = nullptr;
  for (const Binary& binary : target.binaries) {
    if (compiler_named(binary.path) != GpuCompiler::kPtxas) continue;
    if (toolkit_knows(binary.compiler, gpu.gpu.cc)) return std::nullopt;
    if (bundled == nullptr || binary.compiler > bundled->compiler) bundled = &binary;
  }
  if (bundled == nullptr) return std::nullopt;
  const CudaVersion first = first_toolkit_for(gpu.gpu.cc);
  const std::string when = first > bundled->compiler
                               ? fmt::format("CUDA {} is the first", str(first))
                               : fmt::format("dropped after CUDA {}", str(last_toolkit_for(gpu.gpu.cc)));
  return Problem{"FF705", Severity::kMisfit,
                 fmt::format("compiles with its own ptxas of CUDA {}, which does not know {} ({})",
                             str(bundled->compiler), gpu_text(gpu), when),
                 bundled->path, std::string(row.fix)};
}

void check_bundled_ptxas(const Target& target, const Question& question, std::vector<Problem>& problems) {
  if (target.kind != TargetKind::kWheel || question.survey) return;
  const auto wheel = parse_wheel_name(target.file_name);
  if (!wheel) return;
  for (const AskedGpu& gpu : question.gpus)
    for (const Knowledge* const row : known_of(wheel->name, wheel->version.text, Knowledge::Kind::kCompilesWithPtxas))
      if (auto misfit = ptxas_misfit(*row, target, gpu)) problems.push_back(std::move(*misfit));
}

}  // namespace flashfit::doctor
