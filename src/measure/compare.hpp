#pragma once
// `flashfit compare`: two runs of the same cases, an older build's and a newer one's (docs/compare.md).
#include <string>
#include <vector>

#include "measure/ratio.hpp"
#include "measure/result_file.hpp"

namespace flashfit::results {

/// SM clocks of two runs that are further apart than this share make them incomparable: a kernel bound by the SMs takes
/// as much longer.
inline constexpr double kClockShare = 0.03;

struct CompareOptions {
  double margin = 0.03;  ///< above 0; what is within it is the same
  bool force = false;    ///< compare what should not be compared
};

struct CaseComparison {
  std::string name;
  double old_us = 0, new_us = 0;
  Ratio ratio;  ///< of times, new over old: above 1 the new one is slower
  Verdict verdict = Verdict::kCannotTell;
  std::vector<std::string> beside;  ///< the peers that both were measured beside; empty if the times stand alone
};

struct WrongCase {
  std::string name, message;
};

struct Comparison {
  std::vector<CaseComparison> cases;  ///< in the order of the new file
  std::vector<WrongCase> became_wrong, wrong_in_both;
  std::vector<std::string> became_right, without_times;  ///< names
  std::vector<std::string> only_old, only_new;           ///< names
  std::vector<std::string> notes;                        ///< one line each: swapped files, what was forced, and so on
  double margin = 0;

  int count(Verdict verdict) const;
  /// Some case is slower or became wrong.
  bool failed() const { return count(Verdict::kSlower) > 0 || !became_wrong.empty(); }
};

/// Code::kInvalidArgument, in one line, where the runs are of different machines, clocks or methods and `force` is not
/// given, or have no case in common.
Result<Comparison> compare(const ResultFile& old_run, const ResultFile& new_run, const CompareOptions& options);

/// Why the two should not be compared, one line each: "GPU: NVIDIA H200 and NVIDIA L4".
std::vector<std::string> differences(const ResultFile& old_run, const ResultFile& new_run);

}  // namespace flashfit::results
