#pragma once
// The tables of compiled forms of the experts' kernels: the build makes images from them, the plan chooses from them,
// tests run all of them. Host only.
#include <span>
#include <string>
#include <vector>

#include "core/launch/kernel_variant.hpp"
#include "kernels/moe/experts/config.hpp"

namespace flashfit {

struct ExpertsRowsVariant {
  ExpertsRowsConfig config;
  std::span<const Target> targets;
};
struct ExpertsProductVariant {
  ExpertsProductConfig config;
  std::span<const Target> targets;
  int spill_bytes = 0;  ///< spilled or local bytes a thread that the build accepts
};

std::span<const ExpertsRowsVariant> experts_rows_variants();
std::span<const ExpertsProductVariant> experts_product_variants();

/// "experts_rows_bf16"; "experts_mma_bf16_128x128x32_w2x2_s3_b2", "experts_wgmma_...", "..._t" of one for transposed
/// weights, "..._z" of one that keeps, "..._t_z" of both: the names in images, explanations and variant=.
std::string name_of(const ExpertsRowsConfig& c);
std::string name_of(const ExpertsProductConfig& c);

inline constexpr const char* kExpertsOperation = "moe.experts";
extern const KernelFamily kExpertsRowsFamily, kExpertsMmaFamily, kExpertsWgmmaFamily;

/// A variant as the catalogue has it. `variant` must outlive it.
KernelVariant kernel_variant_of(const ExpertsRowsVariant& variant);
KernelVariant kernel_variant_of(const ExpertsProductVariant& variant);
/// Both tables.
std::vector<KernelVariant> experts_kernel_variants();
/// What kernel_variant_of() was made of; the result is of that family.
const ExpertsRowsVariant& experts_rows_variant_of(const KernelVariant& variant);
const ExpertsProductVariant& experts_product_variant_of(const KernelVariant& variant);

}  // namespace flashfit
