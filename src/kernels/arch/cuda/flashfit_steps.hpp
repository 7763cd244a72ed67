#pragma once
// The contract of kernels/arch/steps.hpp on the GPU.
#include "kernels/arch/cuda/sync.hpp"

namespace flashfit::arch {

template <int Target = kTarget>
void wait_for_step_before() {
  if constexpr (Target >= 90) grid_dependency_wait<Target>();
}

}  // namespace flashfit::arch
