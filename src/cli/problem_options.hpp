#pragma once
// The options that describe a problem, the GPUs and the driver.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "core/gpu/gpu.hpp"
#include "kernels/attention/problem.hpp"

namespace flashfit::cli {

/// "fp16", "bf16" or "fp32"; anything else is wrong().
DType parse_dtype(const std::string& option, const std::string& name);

struct ProblemOptions {
  std::string dtype = "fp16";
  std::int64_t head_dim = 64, batch = 1, heads = 8, kv_heads = 0, seqlen = 2048;
  std::int64_t seqlen_k = -1;  ///< -1: as many as queries
  bool causal = false;
  std::int64_t head_dim_v = 0;                       ///< 0: as head_dim
  std::int64_t window_left = -1, window_right = -1;  ///< -1: no limit
  double softcap = 0;                                ///< 0: none
  bool alibi = false, sinks = false, batch_invariant = false;
  std::string bias;  ///< what it holds: "bool", "fp32" or the dtype; "": there is none

  void add_to(CLI::App& app);
  ForwardProblem problem() const;  ///< wrong() where options contradict each other

 private:
  BiasKind bias_kind(DType of) const;
};

/// "fp16, head_dim 64, batch 2, 8 heads, 512 queries x 512 keys, full, window 128 left".
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
