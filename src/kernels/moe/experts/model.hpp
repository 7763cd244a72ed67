#pragma once
// The time of the experts' products on a GPU, by counting what they must multiply and read (docs/moe-kernels.md).
#include "core/gpu/gpu.hpp"
#include "kernels/moe/experts/config.hpp"
#include "kernels/moe/experts/problem.hpp"

namespace flashfit {

/// Microseconds of a layer's products. Each part as if it had the GPU for itself; `all` lets them overlap, and has what
/// comes before and after them.
struct ExpertsTime {
  double multiplying, reading_dram, reading_l2, all;
};

/// Of tokens that choose experts evenly and independently. Not calibrated: it ranks tiles, and promises no time.
ExpertsTime experts_model(const ExpertsProductConfig& config, const ExpertsProblem& problem, const Gpu& gpu);

}  // namespace flashfit
