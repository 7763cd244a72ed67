#pragma once
#include <string_view>

namespace flashfit::doctor {

/// The text of data/knowledge.json.
std::string_view built_in_knowledge();

}  // namespace flashfit::doctor
