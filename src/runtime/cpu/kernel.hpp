#pragma once
// What is compiled for each instruction set; chosen at run time.
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/attention/problem.hpp"
#include "kernels/moe/route/problem.hpp"
#include "runtime/cpu/experts_backward_work.hpp"

namespace flashfit::cpu {

/// Query rows that share one KV head: row r is token r / group of query head kv_head * group + r % group, so
/// that a row never sees fewer keys than the one before it.
struct RowBlock {
  std::int64_t batch, sequence, kv_head;  ///< batch is 0 for variable length
  std::int64_t begin, rows;               ///< rows [begin, begin + rows), rows <= Kernel::rows
  std::int64_t q_start, k_start;          ///< first token of the sequence on the row axes of q, o and of k, v
  std::int64_t seqlen_q, seqlen_k;        ///< seqlen_k: of the keys that are there
};

/// The backend for one instruction set.
struct Kernel {
  const char* name;                                             ///< Highway's name of the target: "AVX2"
  int rows;                                                     ///< most rows of a RowBlock
  std::size_t (*scratch_bytes)(const ForwardProblem& problem);  ///< what one thread needs, in bytes
  void (*run)(const ForwardCall& call, const RowBlock& block,
              float* scratch);  ///< scratch is aligned to kScratchAlignment
  void (*route)(const RouteCall& call, std::int64_t begin, std::int64_t end);  ///< tokens [begin, end)
  void (*exp)(const float* x, float* y, std::size_t count);  ///< the kernel's exponential, for its test: x <= 0
  void (*tanh)(const float* x, float* y, std::size_t count);
  ExpertsKernels experts;
  ExpertsBackwardKernels experts_backward;
};

/// The kernels that this machine can run, best first. Never empty.
std::span<const Kernel> kernels();

}  // namespace flashfit::cpu
