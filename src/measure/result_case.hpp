#pragma once
// One case of a result file (docs/results.md), read.
#include "measure/json_view.hpp"
#include "measure/result_file.hpp"

namespace flashfit::results {

/// What breaks docs/results.md is noted in the view.
CaseResult read_case(const JsonView& view);

}  // namespace flashfit::results
