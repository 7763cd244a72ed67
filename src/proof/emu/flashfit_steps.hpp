#pragma once
// The contract of kernels/arch/steps.hpp on CPU fibres.
#include "proof/emu/arch_sync.hpp"

namespace flashfit::arch {

inline void wait_for_step_before(Site site = {}) { grid_dependency_wait(site); }
inline void let_next_step_begin() { launch_dependents(); }

}  // namespace flashfit::arch
