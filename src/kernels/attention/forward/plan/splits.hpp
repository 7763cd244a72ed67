#pragma once
// How the keys of a sequence are cut when its query rows alone do not fill a GPU. Inner part of the plan.
#include <cstddef>

#include "core/gpu/gpu.hpp"
#include "core/gpu/occupancy.hpp"
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/problem.hpp"

namespace flashfit {

struct Splits {
  int splits, tiles;  ///< parts; tiles of each part but the last
};

/// `tiles` in at most `parts` equal parts, none of which is without tiles; the last may have fewer.
Splits cut_evenly(std::int64_t tiles, int parts);

/// The keys of a problem in at most `parts` equal parts, one if there are no keys.
Splits cut_keys(const ForwardConfig& config, const ForwardProblem& problem, int parts);

/// The parts that take the least modelled time: one unless there are fewer blocks than the GPU holds.
Splits splits_for(const ForwardConfig& config, const Occupancy& resident, int spill_bytes,
                  const ForwardProblem& problem, const Gpu& gpu);

/// What a batch-invariant choice may look at: one sequence of the batch by itself; of variable length, whose lengths
/// are not known, one of 2048 rows.
ForwardProblem alone(const ForwardProblem& problem);

/// Partial outputs and LSEs: [splits, rows of all sequences, heads, head_dim_v of the row + 1], fp32. 0 for one part.
std::size_t workspace_bytes(const ForwardConfig& config, int splits, const ForwardProblem& problem);

}  // namespace flashfit
