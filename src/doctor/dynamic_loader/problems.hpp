#pragma once
// What a plan means for the one who wants to run it: the doctor's problems FF601 to FF699, one page each in
// docs/doctor/. A check is a pure function over the plan; each lives in a file of its own and stands in the list of
// problems.cpp.
#include <vector>

#include "doctor/dynamic_loader/load_plan.hpp"
#include "doctor/rules/report.hpp"

namespace flashfit::doctor::dynamic_loader {

/// In the order of the codes; the same problem of the same file is said once. `member` is the path of the object
/// concerned, in the tree; messages are printable. `since`: what came before it is not judged again.
std::vector<doctor::Problem> loader_problems(const LoadPlan& plan, PlanMark since = {});

}  // namespace flashfit::doctor::dynamic_loader
