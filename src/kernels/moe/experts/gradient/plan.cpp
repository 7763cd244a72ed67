#include "kernels/moe/experts/gradient/plan.hpp"

#include <fmt/format.h>

#include "core/launch/one_image.hpp"

namespace flashfit {
namespace {

constexpr KernelFamily kFamily = {
    .operation = kActivationGradientOperation, .name = "rows", .header = "kernels/moe/experts/gradient/gradient.cuh"};

DType dtype_of(const KernelVariant& variant) {
  return static_cast<const ActivationGradientVariant*>(variant.form)->config.dtype;
}

}  // namespace

KernelVariant kernel_variant_of(const ActivationGradientVariant& v) {
  const DType dtype = v.config.dtype;
  return {.family = &kFamily,
          .form = &v,
          .name = fmt::format("activation_gradient_{}", name_of(dtype)),
          .type = fmt::format("ActivationGradientKernel<ActivationGradientConfig{{.dtype = {}}}>",
                              dtype == DType::kF16 ? "DType::kF16" : "DType::kBF16"),
          .targets = v.targets,
          .threads = kGradientWarps * 32,
          .shared_bytes = 4,
          .params_bytes = sizeof(ActivationGradientParams),
          .serves = {fmt::format("{} experts' gradients", name_of(dtype))}};
}

std::vector<KernelVariant> activation_gradient_variants() {
  std::vector<KernelVariant> all;
  for (const ActivationGradientVariant& v : kActivationGradientVariants) all.push_back(kernel_variant_of(v));
  return all;
}

Result<const Image*> plan_activation_gradient(DType dtype, const Gpu& gpu, CudaVersion driver,
                                              std::span<const Image> images, bool ptx_only) {
  return plan_one_image(fmt::format("gradients of activations in {}", name_of(dtype)),
                        images_of(kActivationGradientOperation, images), {gpu, driver, ptx_only},
                        [&](const Image& image) { return dtype_of(*image.variant) == dtype; });
}

Steps activation_gradient_steps(const Image& image, const ActivationGradientParams& p) {
  Steps steps;
  if (p.rows > 0)
    steps.add({.image = &image, .grid = {.x = (std::int64_t{p.rows} + kGradientWarps - 1) / kGradientWarps}});
  return steps;
}

}  // namespace flashfit
