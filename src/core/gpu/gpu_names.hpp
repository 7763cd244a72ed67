#pragma once
// GPUs as people write them, for judging code: a name or a compute capability is enough, so that more parts are known
// here than the planner's table has figures for.
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/gpu/gpu.hpp"
#include "core/gpu/target.hpp"

namespace flashfit {

struct NamedGpu {
  std::string name;  ///< "RTX 4090"; "compute capability 8.9" where only that was given
  ComputeCapability cc;
};

/// "L40", "rtx 4090", "H100 PCIe", "NVIDIA GeForce RTX 4090 Laptop GPU", "8.9", "sm_89", "compute_90a". Laptop parts
/// and boards of another form have the compute capability of the part that they are named after.
/// Error: the value, with near names or with what is accepted.
Result<NamedGpu> name_gpu(std::string_view text);

/// Every GPU known by name, by compute capability: the planner's table and the parts below it.
std::span<const NamedGpu> named_gpus();

/// A GPU for the planner by every name that name_gpu() takes, errors too. A part that gpu_table() has no figures for
/// gets those of the one of its compute capability whose name is most like its own; else of the newest capability
/// before its own, or the oldest. Its name says whose: "RTX 4080 (figures of RTX 4090)". A capability alone is the
/// first part that has it.
Result<Gpu> gpu_to_plan(std::string_view text);

}  // namespace flashfit
