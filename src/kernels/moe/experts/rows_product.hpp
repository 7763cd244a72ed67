#pragma once
// The experts' grouped product alone, as a backward needs it: out[r] = a[r] w_e^T of each row r of expert e, where rows
// lie sorted by expert. It is a layer's second product, by the same images. Host only.
#include "kernels/moe/experts/plan.hpp"

namespace flashfit {

struct RowsProduct {
  DType dtype = DType::kBF16;  ///< of a, w and out: fp16 or bf16
  int64 rows = 0;              ///< below 2^31
  int experts = 0;             ///< 1 to kMostExperts
  int depth = 0, outputs = 0;  ///< multiples of 8
  bool transposed = false;     ///< w is [experts, depth, outputs] instead of [experts, outputs, depth]
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
};

/// 0 without rows.
int64 rows_product_workspace(const RowsProduct& problem);

/// Two launches: the list of tiles, and the product; none without rows. Code::kMisfit names the GPU and what binds.
Result<ExpertsPlan> plan_rows_product(const RowsProduct& problem, const Gpu& gpu, CudaVersion driver,
                                      std::span<const Image> images, const PlanOptions& options = {});

/// The plan's steps, of two images.
Steps rows_product_steps(const Image& rows, const Image& product, const RowsProduct& problem, std::int64_t resident);

/// Their arguments.
class RowsProductArguments {
 public:
  RowsProductArguments() = default;
  RowsProductArguments(const RowsProductArguments&) = delete;
  RowsProductArguments& operator=(const RowsProductArguments&) = delete;

  /// Errors: those of `encode`, which is asked for configurations over wgmma alone.
  Result<void> set(const ExpertsProductConfig& c, const RowsProductCall& call, EncodeTensorMap encode);

  /// One for each step; they point into this.
  std::span<const void* const> all() const { return pointers_; }

 private:
  ExpertsRowsParams take_;
  WgmmaExpertsParams product_;  ///< of mma.sync without the maps
  std::array<const void*, 2> pointers_{};
};

}  // namespace flashfit
