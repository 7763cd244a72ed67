#pragma once
// What would mend a misfit: a command, found by asking the same rules about a changed question.
#include <vector>

#include "inspect/judge.hpp"

namespace flashfit::inspect {

/// Sets TargetReport::mend where a command is known under which the target, or another of the targets, has
/// Verdict::kFits.
void add_mends(std::vector<TargetReport>& reports, const Question& question);

}  // namespace flashfit::inspect
