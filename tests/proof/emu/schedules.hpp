#pragma once
#include <vector>

#include "proof/emu/options.hpp"

namespace flashfit::testing {

/// The three schedules that the cases of the catalogue's kernels are run under.
inline std::vector<emu::Options> schedules() {
  return {{.kernel = {}, .schedule = emu::Schedule::kRoundRobin, .seed = 1},
          {.kernel = {}, .schedule = emu::Schedule::kReversed, .seed = 1},
          {.kernel = {}, .schedule = emu::Schedule::kRandom, .seed = 7}};
}

}  // namespace flashfit::testing
