#pragma once
// Runs the clusters of a grid, one after another or over host threads.
#include <span>

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

/// Runs the first grid, and each other one as a programmatic dependent launch after the one before it: on one host
/// thread, where clusters of a grid run from the moment on that all blocks of the grid before have launched their
/// dependents, or have ended, or later, as the schedule says. What a grid's blocks all know to have ended when they
/// launch their dependents, as they waited for it before, the next grid knows when it begins.
Result<Stats> run_dependent_grids(std::span<const GridLaunch> grids, const Options& options);

}  // namespace flashfit::emu
