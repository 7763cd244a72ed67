#include "doctor/dynamic_loader/problems.hpp"

#include <algorithm>

#include "doctor/dynamic_loader/all_problems.hpp"

namespace flashfit::doctor::dynamic_loader {
namespace {

constexpr PlanCheck kChecks[] = {check_not_found, check_versions, check_symbols,   check_shadowed,
                                 check_named,     check_stacks,   check_static_tls};

}  // namespace

std::vector<doctor::Problem> loader_problems(const LoadPlan& plan, PlanMark since) {
  std::vector<doctor::Problem> problems;
  for (const PlanCheck check : kChecks) check(plan, since, problems);
  std::stable_sort(problems.begin(), problems.end(), [](const auto& a, const auto& b) { return a.code < b.code; });
  std::vector<doctor::Problem> once;
  for (doctor::Problem& problem : problems) {
    const auto same = [&](const doctor::Problem& p) {
      return p.code == problem.code && p.member == problem.member && p.message == problem.message;
    };
    if (std::none_of(once.begin(), once.end(), same)) once.push_back(std::move(problem));
  }
  return once;
}

}  // namespace flashfit::doctor::dynamic_loader
