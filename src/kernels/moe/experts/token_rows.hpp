#pragma once
// Rows in the experts' order alone, as a backward needs them: tokens' rows gathered, and added up to tokens again. Both
// are a layer's own launches, by the same images. Host only.
#include "kernels/moe/experts/plan.hpp"

namespace flashfit {

struct TokenRows {
  DType dtype = DType::kBF16;  ///< of tokens and rows: fp16 or bf16
  int64 tokens = 0;            ///< below 2^31, as tokens * top_k is
  int top_k = 0;               ///< 1 or more: rows of a token
  int columns = 0;             ///< a multiple of 8
};

/// A checked call. Addresses are multiples of 16 bytes, strides of 8 elements; the last dimensions are contiguous.
struct TokenRowsCall {
  TokenRows problem;
  const int* places = nullptr;  ///< [tokens, top_k]: the row of each choice; below 0: it has none
  void* tokens = nullptr;       ///< [tokens, columns]: read by gathering, written by the sum
  int64 tokens_row = 0;
  void* rows = nullptr;  ///< [more than any place, columns], contiguous: written by gathering, read by the sum
  const float* weights = nullptr;  ///< of the sum: [tokens, top_k], or nullptr for 1
};

/// The image for a dtype on a GPU. Code::kMisfit names the GPU and what binds.
Result<const Image*> plan_token_rows(DType dtype, const Gpu& gpu, CudaVersion driver, std::span<const Image> images,
                                     bool ptx_only = false);

/// One launch; none without tokens.
Steps token_rows_steps(const Image& image, const TokenRows& problem);

/// Its argument. Gathering writes a token's row to those of its choices, and no other; the sum is of `weights` times
/// these, in fp32 and in the order of choices, rounded once.
ExpertsRowsParams gather_params(const TokenRowsCall& call);
ExpertsRowsParams sum_params(const TokenRowsCall& call);

}  // namespace flashfit
