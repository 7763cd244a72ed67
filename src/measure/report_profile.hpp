#pragma once
// What Nsight Compute counted, beside what the model says, as a page shows it.
#include <nlohmann/json.hpp>
#include <string>

namespace flashfit::results {

/// Of a case of a result file that has a profile: `us` that ncu timed, and by unit (`tensor`, `exp`, `memory`) the part
/// of the measured time that the unit is busy by the model: its bound over the median. Null without a profile.
nlohmann::ordered_json profile_figures(const nlohmann::ordered_json& c);

/// A table of the cases that were profiled, and one of those whose profile failed; "" where none was asked for.
std::string profile_tables(const nlohmann::ordered_json& document, std::size_t run);

}  // namespace flashfit::results
