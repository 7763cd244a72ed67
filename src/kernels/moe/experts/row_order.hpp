#pragma once
// The order of a backward's rows: choices sorted by expert, each expert's behind one row that is of no token, so that
// every expert has a row. The rows of a layer's z are these. By the image of a layer's sort. Host only.
#include "kernels/moe/experts/plan.hpp"

namespace flashfit {

struct RowOrder {
  int64 tokens = 0;  ///< tokens * top_k + experts is below 2^31
  int top_k = 0;     ///< choices of a token: 1 or more
  int low = 0;       ///< ids from low to low + experts - 1 count
  int experts = 0;   ///< 1 to kMostExperts
  constexpr int64 choices() const { return tokens * top_k; }
};

/// A checked call, of contiguous tensors.
struct RowOrderCall {
  RowOrder problem;
  const int* ids = nullptr;  ///< [tokens, top_k]; others than those that count are of no expert
  int* places = nullptr;     ///< [tokens, top_k], written: the row of each choice; -1: it is of no expert
  int* choices =
      nullptr;  ///< [tokens * top_k + experts], written: whose place the row is; -1: of no choice that counts
  int* offsets = nullptr;     ///< [experts + 1], written: where each expert's rows begin, and the last one's end
  void* workspace = nullptr;  ///< row_order_workspace() bytes, aligned to 256
};

/// 0 of few choices.
int64 row_order_workspace(const RowOrder& problem);

/// The image for a GPU. Code::kMisfit names the GPU and what binds.
Result<const Image*> plan_row_order(const Gpu& gpu, CudaVersion driver, std::span<const Image> images,
                                    bool ptx_only = false);

/// Counting, if there is more than one chunk, and placing; the latter without tokens, too.
Steps row_order_steps(const Image& image, const RowOrder& problem);

/// Their arguments.
class RowOrderArguments {
 public:
  explicit RowOrderArguments(const RowOrderCall& call);
  RowOrderArguments(const RowOrderArguments&) = delete;
  RowOrderArguments& operator=(const RowOrderArguments&) = delete;

  /// One for each step; they point into this.
  std::span<const void* const> all() const { return {pointers_.data(), count_}; }

 private:
  ExpertsRowsParams count_step_, sort_step_;
  std::array<const void*, 2> pointers_{};
  std::size_t count_ = 0;
};

}  // namespace flashfit
