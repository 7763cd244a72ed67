#pragma once
// What Nsight Compute counts of one launch of a case, beside what the model says of it.
#include <nlohmann/json.hpp>

#include "measure/cases.hpp"
#include "measure/nsight_compute.hpp"

namespace flashfit::measure {

/// `profile` of docs/results.md: this command runs again under ncu, for the case alone. Errors: those of
/// NsightCompute::count().
Result<nlohmann::ordered_json> profile_of(const Case& c, const NsightCompute& ncu);

}  // namespace flashfit::measure
