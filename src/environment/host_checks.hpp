#pragma once
// What no package can help: the driver, its library and the GPU itself.
#include <vector>

#include "environment/environment.hpp"

namespace flashfit::environment {

/// FF701, FF702, FF106: the live driver's answer, copies of libcuda that are none of the driver's, GPUs that the driver
/// does not know. `live`: the answer is this environment's own.
std::vector<inspect::Problem> host_problems(const System& system, const inspect::Question& question);

}  // namespace flashfit::environment
