#pragma once
#include <vector>

#include "kernels/moe/experts/config.hpp"
#include "proof/reference/experts.hpp"

namespace flashfit::testing {

/// The reference's cases, and some that need more than a tile along each side of a product of this configuration, and
/// more slices than its ring has slots.
std::vector<reference::ExpertsCase> cases_for(const ExpertsProductConfig& config);

}  // namespace flashfit::testing
