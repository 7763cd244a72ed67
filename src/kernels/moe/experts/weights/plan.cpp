#include "kernels/moe/experts/weights/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>

#include "core/launch/one_image.hpp"
#include "kernels/moe/experts/token_rows.hpp"

namespace flashfit {
namespace {

constexpr KernelFamily kFamily = {
    .operation = kWeightsProductOperation, .name = "wgmma", .header = "kernels/moe/experts/weights/product.cuh"};

std::int64_t tiles_along(int size, int tile) { return (std::int64_t{size} + tile - 1) / tile; }
std::int64_t tiles_of(const WeightsProductConfig& c, const WeightsProduct& p) {
  return tiles_along(p.m, c.tile_m) * tiles_along(p.n, c.tile_n);
}

}  // namespace

std::string name_of(const WeightsProductConfig& c) {
  return fmt::format("experts_weights_{}_{}x{}x{}_s{}", name_of(c.dtype), c.tile_m, c.tile_n, c.depth, c.stages);
}

KernelVariant kernel_variant_of(const WeightsProductVariant& v) {
  const WeightsProductConfig& c = v.config;
  return {.family = &kFamily,
          .form = &v,
          .name = name_of(c),
          .type = fmt::format("WeightsProductKernel<WeightsProductConfig{{.dtype = {}, .tile_m = {}, .tile_n = {}, "
                              ".depth = {}, .stages = {}}}>",
                              c.dtype == DType::kF16 ? "DType::kF16" : "DType::kBF16", c.tile_m, c.tile_n, c.depth,
                              c.stages),
          .targets = v.targets,
          .threads = kWeightsThreads,
          .shared_bytes = weights_product_shared_bytes(c),
          .params_bytes = sizeof(WeightsProductParams),
          // GPUs without this kernel have gradients all the same: PyTorch's products compute them there.
          .serves = {fmt::format("{} experts' gradients", name_of(c.dtype))}};
}

std::vector<KernelVariant> weights_product_variants() {
  std::vector<KernelVariant> all;
  for (const WeightsProductVariant& v : kWeightsProductVariants) all.push_back(kernel_variant_of(v));
  return all;
}

const WeightsProductVariant& weights_product_variant_of(const KernelVariant& variant) {
  assert(variant.family == &kFamily);
  return *static_cast<const WeightsProductVariant*>(variant.form);
}

Result<WeightsProductPlan> plan_weights_product(const WeightsProduct& p, const Gpu& gpu, CudaVersion driver,
                                                std::span<const Image> images, bool ptx_only) {
  const std::string what = fmt::format("gradients of {} experts' weights in {}", p.experts, name_of(p.dtype));
  const auto product = plan_one_image(
      what, images_of(kWeightsProductOperation, images), {gpu, driver, ptx_only},
      [&](const Image& image) { return weights_product_variant_of(*image.variant).config.dtype == p.dtype; });
  if (!product) return tl::unexpected(product.error());
  const auto rows = plan_token_rows(p.dtype, gpu, driver, images, ptx_only);
  if (!rows) return tl::unexpected(rows.error());
  if (tiles_of(weights_product_variant_of(*(*product)->variant).config, p) * p.experts >
      std::numeric_limits<std::int32_t>::max())
    return tl::unexpected(misfit(fmt::format("{}: {} by {} are more tiles than are counted", what, p.m, p.n)));
  return WeightsProductPlan{
      .rows = *rows, .product = *product, .steps = weights_product_steps(**rows, **product, p, gpu.sms)};
}

Steps weights_product_steps(const Image& rows, const Image& product, const WeightsProduct& p, std::int64_t resident) {
  const std::int64_t works = tiles_of(weights_product_variant_of(*product.variant).config, p) * p.experts;
  Steps steps;
  steps.add({.image = &rows, .grid = {.x = 1}});
  steps.add({.image = &product, .grid = {.x = std::min(works, resident)}});
  return steps;
}

Result<void> WeightsProductArguments::set(const WeightsProductConfig& c, const WeightsProductCall& call,
                                          EncodeTensorMap encode) {
  const WeightsProduct& p = call.problem;
  int* const counters = static_cast<int*>(call.workspace);
  clear_ = {};
  clear_.step = ExpertsRowsStep::kTake;
  clear_.offsets = call.offsets;
  clear_.chunks = 1;
  clear_.tile_rows = Divisor(1);
  clear_.tile_count = counters;
  clear_.taken = counters + 1;
  clear_.top_k = 1;
  const auto columns = static_cast<int>(tiles_along(p.n, c.tile_n));
  product_ = {};
  product_.offsets = call.offsets;
  product_.taken = counters + 1;
  product_.out = call.out;
  product_.rows = static_cast<int>(p.rows);
  product_.experts = p.experts;
  product_.m = p.m;
  product_.n = p.n;
  product_.tiles_m = static_cast<int>(tiles_along(p.m, c.tile_m));
  product_.tiles = Divisor(product_.tiles_m * columns);
  product_.of_stripe = Divisor(kWeightsStripe * columns);
  pointers_ = {&clear_, &product_};
  if (p.rows == 0) return {};  // nothing is copied
  const auto map = [&](const void* base, int size, int64 row) {
    return TensorMapSpec{.dtype = c.dtype,
                         .rank = 2,
                         .base = base,
                         .dims = {static_cast<uint64>(size), static_cast<uint64>(p.rows)},
                         .strides = {map_stride(p.rows, row, c.dtype)},
                         .box = {64, static_cast<uint32>(c.depth)},
                         .swizzle = SwizzleMode::k128B,
                         .l2 = L2Promotion::k256B};
  };
  return encode_all({{product_.a, map(call.a, p.m, call.a_row)}, {product_.b, map(call.b, p.n, call.b_row)}}, encode);
}

}  // namespace flashfit
