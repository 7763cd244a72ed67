#pragma once
// The options that describe a problem, the GPUs and the driver.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "attention/problem.hpp"
#include "gpu/gpu.hpp"

namespace flashfit::cli {

struct ProblemOptions {
  std::string dtype = "fp16";
  std::int64_t head_dim = 64, batch = 1, heads = 8, kv_heads = 0, seqlen = 2048;
  std::int64_t seqlen_k = -1;  ///< -1: as many as queries
  bool causal = false;

  void add_to(CLI::App& app);
  ForwardProblem problem() const;  ///< wrong() where options contradict each other
};

/// "fp16, head_dim 64, batch 2, 8 heads, 512 queries x 512 keys, full".
std::string describe(const ForwardProblem& problem);

struct GpuOptions {
  std::vector<std::string> names;
  std::string driver;

  void add_to(CLI::App& app);
  bool all() const;
  /// The GPUs named, or without a name those of this machine, and the driver's CUDA version: --driver, else this
  /// machine's for its own GPUs, else 0. wrong() where a name or the driver is.
  std::vector<Gpu> gpus(CudaVersion& driver_version) const;
};

}  // namespace flashfit::cli
