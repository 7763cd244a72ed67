#pragma once
// What would mend a misfit: found by asking the same rules about a changed question or target.
#include <vector>

#include "doctor/rules/judge.hpp"

namespace flashfit::doctor {

/// Sets TargetReport::mend where a command is known under which the target, or another of the targets, has
/// Verdict::kFits; else TargetReport::look_for where a driver or a system is known under which it has.
void add_mends(std::vector<TargetReport>& reports, const Question& question);

}  // namespace flashfit::doctor
