#pragma once
// Part of the instruction contract (kernels/arch/arch.hpp), for kernels of a plan's steps, which may begin before the
// step before them has ended (core/launch/step.hpp).
//   void wait_for_step_before();
//       from 9.0 on grid_dependency_wait(): until the grids before this one have ended, and their memory can be seen.
//       Nothing below, where no step begins early
//   void let_next_step_begin();
//       from 9.0 on launch_dependents(): once all blocks have said so, blocks of the next step take what places are
//       free. Nothing below
#include "kernels/arch/arch.hpp"
// After the contract that it is part of.
#include <flashfit_steps.hpp>
