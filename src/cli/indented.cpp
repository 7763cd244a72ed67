#include "cli/indented.hpp"

#include <nlohmann/json.hpp>

namespace flashfit::cli {

std::string indented(const std::string& json) { return nlohmann::ordered_json::parse(json).dump(2); }

}  // namespace flashfit::cli
