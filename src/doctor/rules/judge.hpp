#pragma once
// Facts and a question to a report.
#include "doctor/facts/facts.hpp"
#include "doctor/rules/coverage.hpp"
#include "doctor/rules/question.hpp"
#include "doctor/rules/report.hpp"

namespace flashfit::doctor {

struct TargetReport {
  Target target;
  Verdict verdict = Verdict::kFits;
  std::vector<Problem> problems;                   ///< worst first
  std::vector<std::vector<GpuCoverage>> coverage;  ///< of each binary, in the order of Question::gpus
  std::vector<Verdict> by_gpu;                     ///< of each GPU alone; empty where it is that of the whole
  std::string tags;                                ///< "cp310-cp310-linux_x86_64"; "" if it is no wheel
  std::string glibc;                               ///< the highest version that any binary asks for; "" if none does
  std::string mend;                                ///< a command, judged by the same rules; "" if none is known
  std::string mend_why;                            ///< what it changes, in words
  bool unsettled = false;                          ///< a note says why it may fail all the same: nothing clears it
  std::string look_for;                            ///< where no command mends it: a driver or a system that would
};

/// Runs every check. With Question::survey a GPU that is not served is worth a note, as long as one is.
TargetReport judge(Target target, const Question& question);

/// The worst of all.
Verdict worst(const std::vector<TargetReport>& reports);

/// "2.34"; "" if it asks for no glibc.
std::string glibc_floor(const Binary& binary);

/// The problems and the verdict alone.
std::vector<Problem> problems_of(const Target& target, const Question& question);
Verdict verdict_of(const std::vector<Problem>& problems);

}  // namespace flashfit::doctor
