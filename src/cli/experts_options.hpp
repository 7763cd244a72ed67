#pragma once
// The options that describe a problem of the experts of a mixture, named as Python's fused_moe() names its arguments.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "kernels/moe/experts/problem.hpp"

namespace flashfit::cli {

struct ExpertsOptions {
  std::string dtype = "bf16", activation = "swiglu", gate_up = "concatenated", weight_on = "output";
  std::int64_t tokens = 1, experts = 8, top_k = 2, hidden = 2048, intermediate = 768;
  std::int64_t low = 0, high = -1;         ///< -1: as many as experts
  double alpha = 1, limit = 0, shift = 0;  ///< of swiglu; limit 0: none
  bool transposed = false, bias13 = false, bias2 = false, keeping = false;

  void add_to(CLI::App& app);
  ExpertsProblem problem() const;  ///< wrong() where options contradict each other
};

/// The problem as a call of the library has it: which experts follow the last one owned it is not told.
ExpertsProblem as_called(ExpertsProblem problem);

}  // namespace flashfit::cli
