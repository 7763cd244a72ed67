#include "proof/emulated/activation_gradient.hpp"

#include "kernels/moe/experts/gradient/plan.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emulated/steps.hpp"

namespace flashfit::emulated {

Result<emu::Stats> run(const EmulatedKernel& kernel, const ActivationGradientParams& params, const emu::Memory& memory,
                       const emu::Options& options) {
  const Image image = image_of(kernel);
  const void* const arguments[] = {&params};
  return run_steps(activation_gradient_steps(image, params).all(), arguments, {&kernel, 1}, memory, options);
}

}  // namespace flashfit::emulated
