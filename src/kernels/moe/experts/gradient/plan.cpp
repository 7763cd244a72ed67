#include "kernels/moe/experts/gradient/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

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
  images = images_of(kActivationGradientOperation, images);
  if (auto error = misfit_of_driver(gpu, driver)) return tl::unexpected(std::move(*error));
  const std::string what = fmt::format("gradients of activations in {}", name_of(dtype));
  const auto serves = [&](const Image& image) { return dtype_of(*image.variant) == dtype; };
  if (std::ranges::none_of(images, serves))
    return tl::unexpected(misfit(fmt::format("{}: this build of flashfit carries no image for it", what)));
  const GpuWithDriver on{gpu, driver, ptx_only};
  if (auto error = misfit_of_loading(what, images, on, serves)) return tl::unexpected(std::move(*error));
  const Image* best = nullptr;
  for_each_best_image(images, on, serves, [&](const Image& image) { best = &image; });
  return best;
}

Steps activation_gradient_steps(const Image& image, const ActivationGradientParams& p) {
  Steps steps;
  if (p.rows > 0)
    steps.add({.image = &image, .grid = {.x = (std::int64_t{p.rows} + kGradientWarps - 1) / kGradientWarps}});
  return steps;
}

}  // namespace flashfit
