#pragma once
// What the versions of CUDA toolkits mean: the PTX that they write, the drivers that they need.
#include <string>

#include "core/gpu/target.hpp"

namespace flashfit::doctor {

/// The oldest driver's CUDA version that compiles PTX of this ISA (88 = 8.8): that of the toolkit which brought it, as
/// minor-version compatibility does not cover PTX. For an ISA newer than the table: one past the newest that it has.
/// 0 for an ISA older than the table, which every driver takes.
/// Source: PTX ISA manual, "Release Notes".
CudaVersion first_cuda_for_ptx(int isa);

/// The newest PTX ISA that a driver of this CUDA version compiles; 0 if it is older than the table.
int newest_ptx_for(CudaVersion driver);

/// "8.8".
std::string ptx_isa_str(int isa);

/// The first driver release for anything made by a toolkit of this major version ("525.60.13" for 12), whatever its
/// minor version: minor-version compatibility. "" if it is not in the table.
/// Source: CUDA Toolkit release notes, "CUDA Toolkit and Minimum Required Driver Version for CUDA Minor Version
/// Compatibility".
std::string first_driver_for_toolkit(int major, bool windows = false);

/// The driver release that came with a toolkit ("575.51.03" for 12.9, Linux): it needs no compatibility. "" if it is
/// not in the table. Source: the same, "CUDA Toolkit and Corresponding Driver Versions".
std::string bundled_driver(CudaVersion toolkit);

/// "" if programs of this toolkit run under a driver of this CUDA version, else "cudart 12 needs driver 525.60.13 or
/// later; yours is for CUDA 11.7". Either may be 0, unknown: then "".
std::string toolkit_misfit(CudaVersion toolkit, CudaVersion driver, bool windows = false);

/// The newest driver branch that still has this GPU (580 for 7.0); 0 if none has dropped it.
/// Source: NVIDIA's announcements on Kepler (R470) and on Maxwell, Pascal and Volta (R580).
int last_branch_for(ComputeCapability gpu);
/// The CUDA version of that branch; 0 if no branch has dropped the GPU.
CudaVersion last_driver_for(ComputeCapability gpu);

}  // namespace flashfit::doctor
