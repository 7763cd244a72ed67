#pragma once
// Runs the clusters of a grid, one after another or over host threads.
#include "emu/machine.hpp"

namespace flashfit::emu {

/// The finding of the first cluster that has one (kInternal), in the grid's
/// order; or the sum of what all counted. kInvalidArgument: grid.x is no
/// multiple of the cluster.
Result<Stats> run_grid(const Program& program, Index3 grid, const Memory& memory, const Options& options);

}  // namespace flashfit::emu
