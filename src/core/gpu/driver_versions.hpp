#pragma once
// Driver releases and the CUDA version each brings, so that people can say "535" where the rules need 12.2.
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/gpu/target.hpp"

namespace flashfit {

/// The CUDA version of a driver given as its branch or release ("535", "535.54.03") or as CUDA ("12.2", "CUDA 12.2"). A
/// branch between two that are known (Windows: 572) counts as the older, one past the newest as the newest. Error: one
/// line with the value and what is accepted.
Result<CudaVersion> parse_driver(std::string_view text);

/// 12020 -> "12.2".
std::string str(CudaVersion version);

/// The oldest driver branch that brings this CUDA version or a newer one;
/// 0 if none is known. For messages: 12090 -> 575.
int first_branch(CudaVersion version);

/// The CUDA version of the first drivers that know a GPU of this capability,
/// where that is newer than what images need: 12.8 for Blackwell.
CudaVersion first_driver_for(ComputeCapability gpu);

}  // namespace flashfit
