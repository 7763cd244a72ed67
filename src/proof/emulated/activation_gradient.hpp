#pragma once
// The kernels of activations' gradients on the CPU, as forward.hpp has the forward's.
#include <vector>

#include "kernels/moe/experts/gradient/params.hpp"
#include "proof/emulated/kernel.hpp"

namespace flashfit::emulated {

/// Every variant of the table, in its order.
const std::vector<EmulatedKernel>& emulated_activation_gradients();

/// Runs the kernel as the library would launch it. Error: the emulator's finding.
Result<emu::Stats> run(const EmulatedKernel& kernel, const ActivationGradientParams& params, const emu::Memory& memory,
                       const emu::Options& options);

}  // namespace flashfit::emulated
