#pragma once
// The options that describe a problem of the router of a mixture of experts.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "kernels/moe/route/problem.hpp"

namespace flashfit::cli {

struct RouteOptions {
  std::string dtype = "fp32";
  std::int64_t tokens = 1, experts = 8, top_k = 2;
  bool topk_first = false, renormalize = false;

  void add_to(CLI::App& app);
  RouteProblem problem() const;  ///< wrong() where options contradict each other
};

}  // namespace flashfit::cli
