#pragma once
// What the doctor says.
#include <cstdint>
#include <string>
#include <vector>

#include "doctor/gpu_code/what_runs_where.hpp"

namespace flashfit::doctor {

/// The greater is the worse, for those that a file can be blamed for.
enum class Verdict : unsigned char {
  kFits,
  kDegraded,  ///< it runs, but not all of it, or not as it was meant
  kUnknown,   ///< cannot be told: unreadable, or the question lacks what decides
  kHost,      ///< nothing in any file helps: the driver does not know the GPU
  kMisfit,
};
/// "fits", "degraded", "unknown", "host", "misfit".
const char* name_of(Verdict verdict);

/// What a problem makes of the verdict.
enum class Severity : unsigned char {
  kNote,      ///< nothing: worth knowing
  kDegrades,  ///< kDegraded
  kUnknown,
  kHost,
  kMisfit,
};
Verdict verdict_of(Severity severity);

struct Problem {
  std::string code;  ///< "FF101": docs/doctor/FF101.md
  Severity severity = Severity::kMisfit;
  std::string message;  ///< one line, printable: "SASS 9.0a, no PTX. L40 is 8.9; 9.0a runs only on 9.0"
  std::string member;   ///< the binary's path; "" if it is about the target
  std::string fix;      ///< what would mend it, in words; "" if nothing is known
};

/// How a binary fares on one GPU.
struct GpuCoverage {
  std::string gpu;          ///< as the user named it
  Best best = Best::kNo;    ///< of the best container
  std::size_t covered = 0;  ///< containers that have a usable image, of those that count (coverage.hpp)
};

}  // namespace flashfit::doctor
