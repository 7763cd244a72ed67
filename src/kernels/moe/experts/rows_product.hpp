#pragma once
// The experts' grouped product alone, as a backward needs it: out[r] = a[r] w_e^T of each row r of expert e, where rows
// lie sorted by expert. It is a layer's second product, by the same images, and like that it may add up the products of
// each token's choices. Host only.
#include "kernels/moe/experts/plan.hpp"

namespace flashfit {

struct RowsProduct {
  DType dtype = DType::kBF16;  ///< of a, w, out and sums: fp16 or bf16
  int64 rows = 0;              ///< below 2^31
  int experts = 0;             ///< 1 to kMostExperts
  int depth = 0, outputs = 0;  ///< multiples of 8
  bool transposed = false;     ///< w is [experts, depth, outputs] instead of [experts, outputs, depth]
  bool sums = false;           ///< the products of each token's choices are wanted, added up
  int64 tokens = 0;            ///< of the sums; tokens * top_k is below 2^31
  int top_k = 0;               ///< choices of a token: 1 or more
  bool operator==(const RowsProduct&) const = default;
};

/// A checked call. Addresses are multiples of 16 bytes, strides of 8 elements; the last dimensions are contiguous.
struct RowsProductCall {
  RowsProduct problem;
  const void* a = nullptr;  ///< [rows, depth]
  int64 a_row = 0;
  const void* w = nullptr;
  int64 w_expert = 0, w_row = 0;
  /// [experts + 1], where each expert's rows begin. Need not be trusted: an expert begins at the largest offset so far,
  /// and none reaches past the rows.
  const int* offsets = nullptr;
  void* out = nullptr;        ///< [rows, outputs], contiguous; rows that no expert has are not written
  void* workspace = nullptr;  ///< rows_product_workspace() bytes, aligned to 256
  // Of problems that add up.
  const int* places = nullptr;     ///< [tokens, top_k]: the row of each choice; below 0: it has none
  const float* weights = nullptr;  ///< [tokens, top_k], or nullptr for 1
  void* sums = nullptr;            ///< [tokens, outputs]: written
  int64 sums_row = 0;
};

/// 0 without rows.
int64 rows_product_workspace(const RowsProduct& problem);

/// ExpertsPlan::phase_columns of a product: by a layer's rule, or what it can of `wanted`.
int phase_columns_for(const ExpertsProductConfig& c, const RowsProduct& p);
int phase_columns_of(const ExpertsProductConfig& c, const RowsProduct& p, int wanted);

/// The list of tiles, the product, the sum, or what the product leaves of it. Without rows none but the sum.
/// Code::kMisfit names the GPU and what binds.
Result<ExpertsPlan> plan_rows_product(const RowsProduct& problem, const Gpu& gpu, CudaVersion driver,
                                      std::span<const Image> images, const PlanOptions& options = {});

/// The plan's steps, of two images.
Steps rows_product_steps(const Image& rows, const Image& product, const RowsProduct& problem, std::int64_t resident,
                         int phase_columns);

/// Their arguments.
class RowsProductArguments {
 public:
  RowsProductArguments() = default;
  RowsProductArguments(const RowsProductArguments&) = delete;
  RowsProductArguments& operator=(const RowsProductArguments&) = delete;

  /// Errors: those of `encode`, which is asked for configurations over wgmma alone.
  Result<void> set(const ExpertsProductConfig& c, const RowsProductCall& call, int phase_columns,
                   EncodeTensorMap encode);

  /// One for each step; they point into this.
  std::span<const void* const> all() const { return {pointers_.data(), count_}; }

 private:
  void add(const void* argument) { pointers_[count_++] = argument; }
  ExpertsRowsParams take_, sum_;
  WgmmaExpertsParams product_;  ///< of mma.sync without the maps
  std::array<const void*, 3> pointers_{};
  std::size_t count_ = 0;
};

}  // namespace flashfit
