#pragma once
// The kernels of this folder that synchronise, each with inputs, a grid and the right output.
#include <string>
#include <vector>

#include "proof/emu/options.hpp"

namespace flashfit::testing {

struct HopperCase {
  const char* name;
  /// Runs it: "", "finding: ..." or "wrong: ...".
  std::string (*defect)(const emu::Options& options);
};

const std::vector<HopperCase>& hopper_cases();

/// Three schedules, the random one by several seeds.
std::vector<emu::Options> hopper_schedules();

/// The first defect of any case under every `each`-th of them, or "".
std::string first_hopper_defect(std::size_t each = 1);

}  // namespace flashfit::testing
