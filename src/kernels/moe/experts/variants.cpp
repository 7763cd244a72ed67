#include "kernels/moe/experts/variants.hpp"

#include <fmt/format.h>

#include <cassert>

#include "kernels/moe/experts/params.hpp"
#include "kernels/moe/experts/variants_table.hpp"
#include "kernels/moe/experts/wgmma/params.hpp"

namespace flashfit {
namespace {

const char* literal_of(DType t) { return t == DType::kF16 ? "DType::kF16" : "DType::kBF16"; }

/// What users ask a variant for.
std::vector<std::string> serves(DType t) { return {fmt::format("{} experts", name_of(t))}; }

}  // namespace

const KernelFamily kExpertsRowsFamily = {
    .operation = kExpertsOperation, .name = "rows", .header = "kernels/moe/experts/rows.cuh"};
const KernelFamily kExpertsMmaFamily = {
    .operation = kExpertsOperation, .name = "mma", .header = "kernels/moe/experts/product.cuh"};
const KernelFamily kExpertsWgmmaFamily = {
    .operation = kExpertsOperation, .name = "wgmma", .header = "kernels/moe/experts/wgmma/product.cuh"};

std::span<const ExpertsRowsVariant> experts_rows_variants() { return kExpertsRowsVariants; }
std::span<const ExpertsProductVariant> experts_product_variants() { return kExpertsProductVariants; }

std::string name_of(const ExpertsRowsConfig& c) { return fmt::format("experts_rows_{}", name_of(c.dtype)); }

std::string name_of(const ExpertsProductConfig& c) {
  return fmt::format("experts_{}_{}_{}x{}x{}_w{}x{}_s{}_b{}{}{}", c.engine == ExpertsEngine::kWgmma ? "wgmma" : "mma",
                     name_of(c.dtype), c.tile_rows, c.tile_columns, c.depth, c.row_warps, c.column_warps, c.stages,
                     c.min_blocks, c.transposed ? "_t" : "", c.keeps ? "_z" : "");
}

KernelVariant kernel_variant_of(const ExpertsRowsVariant& v) {
  return {.family = &kExpertsRowsFamily,
          .form = &v,
          .name = name_of(v.config),
          .type = fmt::format("ExpertsRowsKernel<ExpertsRowsConfig{{.dtype = {}}}>", literal_of(v.config.dtype)),
          .targets = v.targets,
          .threads = kRowsThreads,
          .shared_bytes = experts_rows_shared_bytes(),
          .params_bytes = sizeof(ExpertsRowsParams),
          .serves = serves(v.config.dtype)};
}

KernelVariant kernel_variant_of(const ExpertsProductVariant& v) {
  const ExpertsProductConfig& c = v.config;
  const bool wgmma = c.engine == ExpertsEngine::kWgmma;
  return {.family = wgmma ? &kExpertsWgmmaFamily : &kExpertsMmaFamily,
          .form = &v,
          .name = name_of(c),
          .type = fmt::format("{}<ExpertsProductConfig{{.engine = ExpertsEngine::{}, .dtype = {}, .tile_rows = {}, "
                              ".tile_columns = {}, .depth = {}, .row_warps = {}, .column_warps = {}, .stages = {}, "
                              ".min_blocks = {}, .transposed = {}, .keeps = {}}}>",
                              wgmma ? "WgmmaExpertsProductKernel" : "ExpertsProductKernel", wgmma ? "kWgmma" : "kMma",
                              literal_of(c.dtype), c.tile_rows, c.tile_columns, c.depth, c.row_warps, c.column_warps,
                              c.stages, c.min_blocks, c.transposed, c.keeps),
          .targets = v.targets,
          .threads = experts_product_threads(c),
          .shared_bytes = experts_product_shared_bytes(c),
          .params_bytes = static_cast<int>(wgmma ? sizeof(WgmmaExpertsParams) : sizeof(ExpertsProductParams)),
          .spill_bytes = v.spill_bytes,
          .serves = serves(c.dtype)};
}

std::vector<KernelVariant> experts_kernel_variants() {
  std::vector<KernelVariant> variants;
  for (const ExpertsRowsVariant& v : kExpertsRowsVariants) variants.push_back(kernel_variant_of(v));
  for (const ExpertsProductVariant& v : kExpertsProductVariants) variants.push_back(kernel_variant_of(v));
  return variants;
}

const ExpertsRowsVariant& experts_rows_variant_of(const KernelVariant& variant) {
  assert(variant.family == &kExpertsRowsFamily);
  return *static_cast<const ExpertsRowsVariant*>(variant.form);
}

const ExpertsProductVariant& experts_product_variant_of(const KernelVariant& variant) {
  assert(variant.family == &kExpertsMmaFamily || variant.family == &kExpertsWgmmaFamily);
  return *static_cast<const ExpertsProductVariant*>(variant.form);
}

}  // namespace flashfit
