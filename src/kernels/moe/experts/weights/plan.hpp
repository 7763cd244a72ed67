#pragma once
// The product that gives gradients of weights, as a backward needs it: out[e] = sum of a[r]^T b[r] over the rows r of
// each expert, where rows lie sorted by expert. Two launches. Host only.
#include <array>
#include <span>
#include <string>
#include <vector>

#include "core/launch/choice.hpp"
#include "core/launch/kernel_variant.hpp"
#include "core/launch/step.hpp"
#include "kernels/layout/encode_maps.hpp"
#include "kernels/moe/experts/params.hpp"
#include "kernels/moe/experts/weights/config.hpp"
#include "kernels/moe/experts/weights/params.hpp"

namespace flashfit {

struct WeightsProductVariant {
  WeightsProductConfig config;
  std::span<const Target> targets;
};

namespace weights_table {

using enum Target::Kind;

inline constexpr Target kHopper[] = {{90, kSass, TargetScope::kArchitecture}};

// Four stages of 48 KB and the epilogue's buffers: what a block may have on 9.0.
constexpr WeightsProductConfig hopper(DType t) {
  return {.dtype = t, .tile_m = 128, .tile_n = 256, .depth = 64, .stages = 4};
}
inline constexpr WeightsProductVariant kAll[] = {{hopper(DType::kF16), kHopper}, {hopper(DType::kBF16), kHopper}};

}  // namespace weights_table

/// In a header, for tests that instantiate all of them.
inline constexpr std::span<const WeightsProductVariant> kWeightsProductVariants = weights_table::kAll;

inline constexpr const char* kWeightsProductOperation = "moe.weights";

/// "experts_weights_bf16_128x256x64_s4".
std::string name_of(const WeightsProductConfig& c);
/// As the catalogue has them.
std::vector<KernelVariant> weights_product_variants();
KernelVariant kernel_variant_of(const WeightsProductVariant& variant);
/// What kernel_variant_of() was made of; the result is of this family.
const WeightsProductVariant& weights_product_variant_of(const KernelVariant& variant);

struct WeightsProduct {
  DType dtype = DType::kBF16;  ///< of a, b and out: fp16 or bf16
  int64 rows = 0;              ///< below 2^31
  int experts = 0;             ///< 1 to kMostExperts
  int m = 0, n = 0;            ///< columns of a and b: multiples of 8
  bool operator==(const WeightsProduct&) const = default;
};

/// A checked call. Addresses are multiples of 16 bytes, strides of 8 elements; the last dimensions are contiguous.
struct WeightsProductCall {
  WeightsProduct problem;
  const void* a = nullptr;  ///< [rows, m]
  int64 a_row = 0;
  const void* b = nullptr;  ///< [rows, n]
  int64 b_row = 0;
  /// [experts + 1], where each expert's rows begin. Need not be trusted: where they fall an expert has none, and rows
  /// that are not there belong to nobody.
  const int* offsets = nullptr;
  void* out = nullptr;        ///< [experts, m, n], contiguous: each element is written
  void* workspace = nullptr;  ///< kWeightsProductWorkspace bytes, aligned to 256
};

inline constexpr int64 kWeightsProductWorkspace = 256;

struct WeightsProductPlan {
  const Image* rows;  ///< whose list of tiles, of no rows, sets the counter of tiles to 0
  const Image* product;
  Steps steps;
};

/// Code::kMisfit names the GPU and what binds: no image for it, a driver too old, too many tiles.
Result<WeightsProductPlan> plan_weights_product(const WeightsProduct& problem, const Gpu& gpu, CudaVersion driver,
                                                std::span<const Image> images, bool ptx_only = false);

/// The plan's steps, of two images. Blocks are persistent and share the tiles, at most one on each of `resident` SMs.
Steps weights_product_steps(const Image& rows, const Image& product, const WeightsProduct& problem,
                            std::int64_t resident);

/// Their arguments.
class WeightsProductArguments {
 public:
  WeightsProductArguments() = default;
  WeightsProductArguments(const WeightsProductArguments&) = delete;
  WeightsProductArguments& operator=(const WeightsProductArguments&) = delete;

  /// Errors: those of `encode`.
  Result<void> set(const WeightsProductConfig& c, const WeightsProductCall& call, EncodeTensorMap encode);

  /// One for each step; they point into this.
  std::span<const void* const> all() const { return pointers_; }

 private:
  ExpertsRowsParams clear_;
  WeightsProductParams product_;
  std::array<const void*, 2> pointers_{};
};

}  // namespace flashfit
