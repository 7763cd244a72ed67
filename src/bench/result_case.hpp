#pragma once
// One case of a result file (docs/results.md), read.
#include "bench/json_view.hpp"
#include "bench/result_file.hpp"

namespace flashfit::results {

/// What breaks docs/results.md is noted in the view.
CaseResult read_case(const JsonView& view);

}  // namespace flashfit::results
