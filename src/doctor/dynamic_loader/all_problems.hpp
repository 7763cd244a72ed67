#pragma once
// The checks that problems.cpp lists.
#include "doctor/dynamic_loader/problems.hpp"

namespace flashfit::doctor::dynamic_loader {

using PlanCheck = void (*)(const LoadPlan& plan, PlanMark since, std::vector<doctor::Problem>& problems);

void check_not_found(const LoadPlan& plan, PlanMark since,
                     std::vector<doctor::Problem>& problems);  // FF601, FF602, FF610, FF620
void check_versions(const LoadPlan& plan, PlanMark since, std::vector<doctor::Problem>& problems);    // FF603
void check_symbols(const LoadPlan& plan, PlanMark since, std::vector<doctor::Problem>& problems);     // FF604
void check_shadowed(const LoadPlan& plan, PlanMark since, std::vector<doctor::Problem>& problems);    // FF605
void check_named(const LoadPlan& plan, PlanMark since, std::vector<doctor::Problem>& problems);       // FF606, FF607
void check_stacks(const LoadPlan& plan, PlanMark since, std::vector<doctor::Problem>& problems);      // FF608
void check_static_tls(const LoadPlan& plan, PlanMark since, std::vector<doctor::Problem>& problems);  // FF609

}  // namespace flashfit::doctor::dynamic_loader
