#pragma once
// What `flashfit emulate` says of a run.
#include <nlohmann/json.hpp>
#include <string>

#include "kernels/attention/forward/plan/plan.hpp"
#include "proof/emu/options.hpp"
#include "proof/reference/forward_data.hpp"

namespace flashfit::cli {

/// One run of one GPU's kernel.
struct Run {
  const Gpu& gpu;
  const ForwardPlan& plan;
  const emu::Options& options;
  double flop = 0, seconds = 0;
  emu::Stats stats;
  double out_bound = 0, lse_bound = 0;
  reference::Verdict verdict;
  std::string finding;  ///< "": none
};

/// The run as an object of --json.
nlohmann::ordered_json json_of(const Run& run);

/// The run for people; the first of a GPU with what was chosen and what it counted.
void print(const Run& run, bool first);

/// What a launch counted, a line each.
void print_counts(const emu::Stats& stats);

/// A line of that text.
void print_line(const char* key, const std::string& value);

}  // namespace flashfit::cli
