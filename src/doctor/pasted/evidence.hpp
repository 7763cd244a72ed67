#pragma once
// Files that were judged, held against an error: which of them explain it.
#include "doctor/pasted/diagnosis.hpp"
#include "doctor/rules/judge.hpp"

namespace flashfit::doctor::pasted {

struct Culprit {
  std::size_t report = 0;                 ///< its number in the reports
  std::vector<doctor::Problem> problems;  ///< that explain the error, worst first
};

struct Evidence {
  std::vector<Culprit> culprits;     ///< the most likely first; of an unknown error: whatever is a misfit
  std::vector<std::size_t> cleared;  ///< reports that were judged for what the error needs, and have nothing of it
  std::vector<std::size_t> silent;   ///< reports that tell nothing: unreadable, or not about such errors
};

/// `reports` as examine() gives them for `question`.
Evidence weigh(const Diagnosis& diagnosis, const std::vector<doctor::TargetReport>& reports,
               const doctor::Question& question);

/// What the figures of the message mean, for the GPUs and the driver of `question`: limits, versions, C++ ABIs.
struct Remarks {
  std::vector<std::string> lines;
  bool refuted = false;  ///< by the doctor's rules the message is mistaken: it proves nothing
  std::string mend;      ///< where the figures decide what mends it; else the kind's own holds
};
Remarks remarks(const Diagnosis& diagnosis, const doctor::Question& question);

}  // namespace flashfit::doctor::pasted
