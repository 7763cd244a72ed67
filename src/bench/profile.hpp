#pragma once
// What Nsight Compute counts of one launch of a case, beside what the model says of it.
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "bench/cases.hpp"

namespace flashfit::bench {

/// "Version 2025.3.1.0" of the ncu that the PATH finds. Error: there is none, or it does not run.
Result<std::string> ncu_version();

/// `profile` of docs/results.md: runs this command again under ncu, for the case alone. What fails is its `message`.
nlohmann::ordered_json profile_of(const Case& c);

/// The first kernel's row of `ncu --csv --page raw`: numbers by metric, with units. Error: there is none.
Result<nlohmann::ordered_json> metrics_of(const std::string& csv);

}  // namespace flashfit::bench
