#pragma once
// The contract of kernels/arch/steps.hpp on the GPU.
#include "kernels/arch/cuda/sync.hpp"

namespace flashfit::arch {

template <int Target = kTarget>
void wait_for_step_before() {
  if constexpr (Target >= 90) grid_dependency_wait<Target>();
}

template <int Target = kTarget>
void let_next_step_begin() {
  if constexpr (Target >= 90) launch_dependents<Target>();
}

}  // namespace flashfit::arch
