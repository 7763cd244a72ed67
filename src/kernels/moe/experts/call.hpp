#pragma once
// A checked call of the experts: the problem with its pointers, a backend's input. Neutral.
#include "kernels/moe/experts/problem.hpp"

namespace flashfit {

/// Nothing here needs to be validated again. Pointers are to memory of the backend's device, strides are in elements,
/// the last dimension of each tensor is contiguous. `owned` is high - low. topk_ids may hold anything: what is not in
/// [low, high) adds 0 and touches no memory; ids may repeat within a token.
struct ExpertsCall {
  ExpertsProblem problem;
  const void* x = nullptr;  ///< [tokens, hidden]
  int64 x_row = 0;
  const void* w13 =
      nullptr;  ///< [owned, 2 I, hidden]; [owned, I, hidden] without gate; transposed: the last two turned
  int64 w13_expert = 0, w13_row = 0;
  const void* w2 = nullptr;  ///< [owned, hidden, I]; transposed: [owned, I, hidden]
  int64 w2_expert = 0, w2_row = 0;
  const void* b13 = nullptr;  ///< [owned, 2 I] in the order of w13's outputs, or nullptr; rows of the call's dtype
  int64 b13_expert = 0;
  const void* b2 = nullptr;  ///< [owned, hidden], or nullptr
  int64 b2_expert = 0;
  const int* topk_ids = nullptr;        ///< [tokens, top_k], contiguous
  const float* topk_weights = nullptr;  ///< [tokens, top_k], contiguous
  void* out = nullptr;                  ///< [tokens, hidden]
  int64 out_row = 0;
  void* workspace = nullptr;  ///< GPUs alone: workspace_bytes(problem) (workspace.hpp), aligned to 256 bytes
};

}  // namespace flashfit
