#pragma once
// The doctor as one call: paths and a question to reports. docs/doctor.md explains the verdicts; examples/doctor asks
// it.
//
//   Question question;  // what is left out is not judged
//   question.gpus.push_back({"L40", *name_gpu("L40")});
//   question.driver = *parse_driver("535");
//   for (const TargetReport& report : examine({"a.whl", "site-packages"}, question, {})) ...
//
// The parts of a question come from name_gpu (gpu_names.hpp), parse_driver (core/gpu/driver_versions.hpp), parse_python
// (python.hpp), parse_platform and with_glibc (platform.hpp) and read_torch (torch_facts.hpp). Each is a Result, whose
// error is one line with the value and what is accepted.
#include <string>
#include <vector>

#include "doctor/facts/read_target.hpp"
#include "doctor/rules/judge.hpp"

namespace flashfit::doctor {

struct DoctorOptions {
  std::string cache;        ///< folder of the cache, made where it is not there; "" for none (facts_cache.hpp)
  std::size_t kernels = 8;  ///< most containers of a library whose kernels are named where they lack an image
  Progress progress;        ///< bytes read so far of a target's; may be called by several threads at once
};

/// Judges each of `targets`, paths of files and folders, in their order; behind a folder comes one report for each
/// wheel and source distribution in it, and none for the folder itself if it has nothing else. Files are read in place
/// by up to two threads; nothing in them is run. Never fails: a target that cannot be read is Verdict::kUnknown, with
/// why among its problems, and the others are judged. Texts of problems are printable lines; paths and names of members
/// are bytes of the file's maker (printable.hpp).
std::vector<TargetReport> examine(const std::vector<std::string>& targets, const Question& question,
                                  const DoctorOptions& options);

/// The same for file names of wheels without the files: by tags and labels alone. A "%2B" in them, as in addresses, is
/// taken and reported as '+'.
std::vector<TargetReport> examine_names(const std::vector<std::string>& names, const Question& question);

}  // namespace flashfit::doctor
