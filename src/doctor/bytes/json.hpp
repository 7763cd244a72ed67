#pragma once
// JSON of others: nlohmann's parser takes any nesting, but what writes, compares or copies a value calls itself for
// each level of it.
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/error.hpp"

namespace flashfit::doctor {

/// Errors: "no JSON"; arrays and objects nested beyond limits::kNesting.
Result<nlohmann::json> parse_json(std::string_view text);

}  // namespace flashfit::doctor
