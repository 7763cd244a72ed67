#include "kernels/attention/forward/combine/variants.hpp"

#include <fmt/format.h>

namespace flashfit {
namespace {

constexpr KernelFamily kFamily = {
    .operation = kCombineOperation, .name = "warps", .header = "kernels/attention/forward/combine/combine.cuh"};

DType dtype_of(const KernelVariant& variant) { return static_cast<const CombineVariant*>(variant.form)->config.dtype; }

}  // namespace

KernelVariant kernel_variant_of(const CombineVariant& v) {
  const DType dtype = v.config.dtype;
  return {.family = &kFamily,
          .form = &v,
          .name = fmt::format("combine_{}", name_of(dtype)),
          .type = fmt::format("CombineKernel<CombineConfig{{.dtype = {}}}>",
                              dtype == DType::kF16 ? "DType::kF16" : "DType::kBF16"),
          .targets = v.targets,
          .threads = kCombineWarps * 32,
          .shared_bytes = kCombineWarps * kCombineColumns * static_cast<int>(sizeof(float)),
          .params_bytes = sizeof(CombineParams),
          .serves = {fmt::format("{} split keys", name_of(dtype))}};
}

std::vector<KernelVariant> combine_kernel_variants() {
  std::vector<KernelVariant> all;
  for (const CombineVariant& v : kCombineVariants) all.push_back(kernel_variant_of(v));
  return all;
}

const Image* combine_image(DType dtype, std::span<const Image> images, const GpuWithDriver& on) {
  const Image* best = nullptr;
  for_each_best_image(
      images_of(kCombineOperation, images), on, [&](const Image& image) { return dtype_of(*image.variant) == dtype; },
      [&](const Image& image) { best = &image; });
  return best;
}

Step combine_step(const Image& image, const ForwardConfig& parts_config, std::int64_t rows, int parts) {
  const int rows_a_block = kCombineWarps >> combining_warps_log2(parts);
  return {.image = &image,
          .grid = {.x = (rows + rows_a_block - 1) / rows_a_block,
                   .y = (parts_config.head_dim_v + kCombineColumns - 1) / kCombineColumns}};
}

CombineParams combine_params(const ForwardConfig& parts_config, const ForwardParams& parts) {
  const bool dense = parts.cu_seqlens_q == nullptr;
  return {.partial_o = parts.partial_o,
          .partial_lse = parts.partial_lse,
          .parts = parts.splits,
          .warps_log2 = combining_warps_log2(parts.splits),
          // A launch is split only if it has fewer blocks than a GPU holds at once, so this is small.
          .rows = (dense ? parts.batch : 1) * parts.seqlen_q * parts.heads.by,
          .columns = parts_config.head_dim_v,
          .o = parts.o,
          .lse = parts.lse,
          .o_batch = parts.o_batch,
          .o_row = parts.o_row,
          .o_head = parts.o_head,
          .lse_batch = parts.lse_batch,
          .lse_head = parts.lse_head,
          .head_dim_v = parts.head_dim_v,
          .heads = parts.heads,
          .queries = Divisor(parts.seqlen_q > 0 ? parts.seqlen_q : 1),
          .cu_seqlens_q = parts.cu_seqlens_q,
          .batch = parts.batch,
          .sinks = parts.sinks};
}

}  // namespace flashfit
