#pragma once
// Which image computes activations' gradients: a table of a row for each dtype, and a plan of one launch. Host only.
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/launch/choice.hpp"
#include "core/launch/kernel_variant.hpp"
#include "core/launch/step.hpp"
#include "kernels/moe/experts/gradient/params.hpp"

namespace flashfit {

struct ActivationGradientVariant {
  ActivationGradientConfig config;
  std::span<const Target> targets;
};

namespace gradient_rows {

using enum Target::Kind;

inline constexpr Target kTuringOn[] = {{75, kSass}, {80, kSass}, {90, kSass}, {100, kSass}, {120, kSass}, {75, kPtx}};
inline constexpr Target kAmpereOn[] = {{80, kSass}, {90, kSass}, {100, kSass}, {120, kSass}, {80, kPtx}};
inline constexpr ActivationGradientVariant kAll[] = {{{DType::kF16}, kTuringOn}, {{DType::kBF16}, kAmpereOn}};

}  // namespace gradient_rows

/// In a header, for tests that instantiate all of them.
inline constexpr std::span<const ActivationGradientVariant> kActivationGradientVariants = gradient_rows::kAll;

inline constexpr const char* kActivationGradientOperation = "moe.activation";

/// As the catalogue has them.
std::vector<KernelVariant> activation_gradient_variants();
KernelVariant kernel_variant_of(const ActivationGradientVariant& variant);

/// The image for a dtype on a GPU. Code::kMisfit names the GPU and what binds.
Result<const Image*> plan_activation_gradient(DType dtype, const Gpu& gpu, CudaVersion driver,
                                              std::span<const Image> images, bool ptx_only = false);

/// One launch; none without rows.
Steps activation_gradient_steps(const Image& image, const ActivationGradientParams& params);

}  // namespace flashfit
