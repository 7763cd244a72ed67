#pragma once
// The one list of cases: bench/cases/forward.json, expanded. This is its only reader; everyone else takes the expanded
// cases from `flashfit bench --list --json`.
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "measure/case.hpp"

namespace flashfit::measure {

/// Every case of the list, in its order. Error: the group, the entry and what is wrong with it.
Result<std::vector<Case>> expand_cases(std::string_view json);

/// The list that the command was built with.
std::string_view case_list();

}  // namespace flashfit::measure
