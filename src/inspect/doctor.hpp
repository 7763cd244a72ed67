#pragma once
// The doctor as one call: paths and a question to reports. docs/doctor.md explains the verdicts.
#include <string>
#include <vector>

#include "inspect/judge.hpp"
#include "inspect/read_target.hpp"

namespace flashfit::inspect {

struct DoctorOptions {
  std::string cache;        ///< folder of the cache; "" for none
  std::size_t kernels = 8;  ///< most containers of a library whose kernels are named where they lack an image
  Progress progress;
};

/// A report for each target, and behind a folder's one for each wheel or source distribution in it. Never fails: a
/// target that cannot be read is Verdict::kUnknown, and the others are judged.
std::vector<TargetReport> examine(const std::vector<std::string>& targets, const Question& question,
                                  const DoctorOptions& options);

/// The same for names of wheels alone, without the files.
std::vector<TargetReport> examine_names(const std::vector<std::string>& names, const Question& question);

}  // namespace flashfit::inspect
