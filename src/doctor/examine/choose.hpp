#pragma once
// Which of several targets to take.
#include <optional>
#include <vector>

#include "doctor/rules/judge.hpp"

namespace flashfit::doctor {

struct Choice {
  /// The best target that serves every GPU; none if no single one does.
  std::optional<std::size_t> best;
  /// The smallest set that serves every GPU, best first, with what each serves (numbers of Question::gpus); one target
  /// where `best` is set; empty if some GPU is served by none.
  struct Member {
    std::size_t target;
    std::vector<std::size_t> gpus;
  };
  std::vector<Member> set;
  std::vector<std::size_t> unserved;  ///< GPUs that no target serves
};

/// A target serves a GPU if its verdict for that GPU alone is kFits or, where none fits, kDegraded. Among equals go:
/// machine code before PTX, the newer version, code nearer to the GPU, the earlier of the list. More than 16 GPUs are
/// covered greedily, so that the set may not be the smallest.
Choice choose(const std::vector<TargetReport>& reports, const Question& question);

}  // namespace flashfit::doctor
