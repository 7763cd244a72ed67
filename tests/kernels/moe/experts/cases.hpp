#pragma once
#include <vector>

#include "kernels/moe/experts/config.hpp"
#include "proof/reference/experts.hpp"

namespace flashfit::testing {

/// How gates and ups of a layer lie, as this configuration takes them: those of transposed weights side by side for
/// three warpgroups.
GateUp gate_up_for(const ExpertsProductConfig& config);

/// The reference's cases, and some that need more than a tile along each side of a product of this configuration, and
/// more slices than its ring has stages.
std::vector<reference::ExpertsCase> cases_for(const ExpertsProductConfig& config);

/// Of one token, for configurations that find its choices by their ids: every layout and activation's kind, ids that
/// repeat and ids of no expert here, fewer experts here than choices, all that there may be, outputs of several blocks
/// of the sum.
std::vector<reference::ExpertsCase> one_token_cases(const ExpertsProductConfig& config);

}  // namespace flashfit::testing
