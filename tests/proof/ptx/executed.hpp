#pragma once
// What is asked of the PTX of a variant: on a case, under a schedule, its keys in some parts.
#include <string>

#include "compiled.hpp"
#include "core/gpu/limits.hpp"
#include "kernels/attention/forward/emulated.hpp"
#include "kernels/attention/forward/variants.hpp"

namespace flashfit::testing {

/// Targets that PTX is made for: one of each way in which the kernels' instructions differ.
inline constexpr int kPtxTargets[] = {75, 80, 90, 100, 120};

/// Whether the variant may be compiled for the target: bf16 is from 8.0 on, and a block's shared memory has its limit.
inline bool serves(const ForwardVariant& variant, int target) {
  if (variant.config.engine != ForwardEngine::kMma) return false;  // wgmma's PTX is not executed
  return (variant.config.dtype == DType::kF16 || target >= 80) &&
         shared_bytes_of(variant.config) <= max_shared_bytes(target);
}

struct ExecutedRun {
  const EmulatedKernel& kernel;  ///< the fibres'
  const ptx::Program& program;
  const ForwardCase& spec;
  emu::Options options;
  int splits = 1;
};

/// Seconds of processor time of both, added to.
struct ExecutedSeconds {
  double fibres = 0, ptx = 0;
};

/// The first difference between what the fibres give and what the PTX gives, made comparable, or "".
std::string bits_defect(const ExecutedRun& run, ExecutedSeconds* seconds = nullptr);

/// What is wrong against fp64 with what the PTX gives, or "".
std::string value_defect(const ExecutedRun& run);

}  // namespace flashfit::testing
