#pragma once
// Runs the clusters of a grid, one after another or over host threads.
#include "proof/emu/machine.hpp"

namespace flashfit::emu {

/// The finding of the first cluster that has one (kInternal), in the grid's
/// order; or the sum of what all counted. kInvalidArgument: grid.x is no
/// multiple of the cluster.
Result<Stats> run_grid(const Program& program, Index3 grid, const Memory& memory, const Options& options);

/// A grid, and what findings call its kernel.
struct GridLaunch {
  Program program;
  Index3 grid;
  const Memory& memory;
  std::string kernel;
};

/// Runs `first`, and `second` as a programmatic dependent launch after it: on one host thread, where clusters of the
/// second run from the moment on that all blocks of the first have launched their dependents, or have ended, or later,
/// as the schedule says.
Result<Stats> run_dependent_grids(const GridLaunch& first, const GridLaunch& second, const Options& options);

}  // namespace flashfit::emu
