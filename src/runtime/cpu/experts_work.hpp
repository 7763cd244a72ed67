#pragma once
// A layer of experts as the tasks that the CPU's kernels compute.
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/moe/experts/call.hpp"

namespace flashfit::cpu {

inline constexpr std::size_t kScratchAlignment = 64;

/// Element [row, column] at data + row * row_stride + column * column_stride elements.
struct Matrix {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  std::int64_t row_stride = 0, column_stride = 1;
};

/// Rows that are multiplied by a panel of weights at once, and the most rows that a panel of weights has.
inline constexpr std::int64_t kRowBlock = 24, kMostPanelRows = 128;

/// Rows of one expert, which lie together once sorted.
struct Segment {
  std::int64_t expert;  ///< of those whose weights are given
  std::int64_t begin, end;
};

/// Two products of sorted rows: what a thread needs to know to compute a task of either.
struct ExpertsWork {
  const ExpertsCall& call;                           ///< its weights, biases, activation; not its ids
  std::span<const Segment> segments;                 ///< without empty ones
  Matrix x;                                          ///< [tokens, hidden]
  const std::int64_t* token = nullptr;               ///< of each sorted row: its row of x; nullptr: as they lie
  const float* x_weight = nullptr;                   ///< of each sorted row: what multiplies x; nullptr: 1
  float* h = nullptr;                                ///< [sorted rows, padded intermediate]
  float* y = nullptr;                                ///< [sorted rows, hidden]
  std::int64_t h_row = 0;                            ///< padded intermediate
  std::int64_t features = 0, columns = 0;            ///< of the first product and of the second: what a task computes
  std::int64_t feature_tasks = 0, column_tasks = 0;  ///< of a segment
};

/// What is compiled for each instruction set.
struct ExpertsKernels {
  std::size_t (*scratch_bytes)(const ExpertsProblem& problem);  ///< what one thread needs
  /// Fills features, columns and what follows from them.
  void (*divide)(ExpertsWork& work);
  void (*first)(const ExpertsWork& work, std::int64_t task, float* scratch);
  void (*second)(const ExpertsWork& work, std::int64_t task, float* scratch);
  /// to[i] of `dtype` = sum over parts p, from the first on, of weights[p] * rows[p][i]; 0 without parts.
  void (*combine)(const float* const* rows, const float* weights, int parts, std::int64_t count, DType dtype, void* to,
                  float* scratch);
};

}  // namespace flashfit::cpu
