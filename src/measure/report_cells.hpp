#pragma once
// The tables of a report's measurements.
#include <nlohmann/json.hpp>
#include <string>

namespace flashfit::results {

/// Of run `run` of the document, as HTML.
/// Peers: how many cases each did, in how many flashfit is faster, the geometric mean of ratios.
std::string peers_table(const nlohmann::ordered_json& document, std::size_t run);
/// A row a timed case: time, rate, share of the bound, a ratio over each peer coloured by verdict, error, cost.
std::string cells_table(const nlohmann::ordered_json& document, std::size_t run);
/// Cases that are wrong, and what peers said that did not do a case; "" if there are none.
std::string failures_tables(const nlohmann::ordered_json& document, std::size_t run);
/// Cases that two runs or more timed, side by side; "" if there are none.
std::string side_by_side_table(const nlohmann::ordered_json& document);

}  // namespace flashfit::results
