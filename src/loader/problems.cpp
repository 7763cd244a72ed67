#include "loader/problems.hpp"

#include <algorithm>

#include "loader/all_problems.hpp"

namespace flashfit::loader {
namespace {

constexpr PlanCheck kChecks[] = {check_not_found, check_versions, check_symbols,   check_shadowed,
                                 check_named,     check_stacks,   check_static_tls};

}  // namespace

std::vector<inspect::Problem> loader_problems(const LoadPlan& plan, PlanMark since) {
  std::vector<inspect::Problem> problems;
  for (const PlanCheck check : kChecks) check(plan, since, problems);
  std::stable_sort(problems.begin(), problems.end(), [](const auto& a, const auto& b) { return a.code < b.code; });
  std::vector<inspect::Problem> once;
  for (inspect::Problem& problem : problems) {
    const auto same = [&](const inspect::Problem& p) {
      return p.code == problem.code && p.member == problem.member && p.message == problem.message;
    };
    if (std::none_of(once.begin(), once.end(), same)) once.push_back(std::move(problem));
  }
  return once;
}

}  // namespace flashfit::loader
