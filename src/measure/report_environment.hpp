#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace flashfit::results {

/// All that a run says of its machine, versions, method and ceilings, as HTML tables of key and value.
std::string environment_tables(const nlohmann::ordered_json& document, std::size_t run);

}  // namespace flashfit::results
