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
  /// GPUs alone (on the CPU the API reads them): an id's place in w13, or -1; low is 0. nullptr: id - low.
  const int* map = nullptr;
  int mapped = 0;  ///< ids that the map has
  /// GPUs alone: [owned + 1], where each expert's rows of x begin, of problems that are sorted. Need not be trusted:
  /// rows that no expert has get 0.
  const int* offsets = nullptr;
  void* out = nullptr;  ///< [tokens, hidden]
  int64 out_row = 0;
  /// Of problems that keep, which are not sorted: [rows + owned, first_outputs], contiguous: the first product's values
  /// before the activation, gates of all features, then ups, however w13 has them. An expert's choices lie together in
  /// their order, the experts one after the other, each behind one row that is not written; nor are the rows that are
  /// left at the end, those of choices that no expert here has.
  void* z = nullptr;
  void* workspace = nullptr;  ///< GPUs alone: workspace_bytes(problem) (workspace.hpp), aligned to 256 bytes
};

}  // namespace flashfit
