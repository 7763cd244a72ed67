#pragma once
// What no package can help: the driver, its library and the GPU itself.
#include <vector>

#include "doctor/environment/environment.hpp"

namespace flashfit::doctor::environment {

/// FF701, FF702, FF106: the live driver's answer, copies of libcuda that are none of the driver's, GPUs that the driver
/// does not know. `live`: the answer is this environment's own.
std::vector<doctor::Problem> host_problems(const System& system, const doctor::Question& question);

}  // namespace flashfit::doctor::environment
