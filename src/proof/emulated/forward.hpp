#pragma once
// The forward kernels of the variant table, on the CPU. One backend a binary: who links these may hold no other
// instance of the kernels, or the linker keeps one of the two.
#include <functional>
#include <vector>

#include "kernels/attention/forward/variants.hpp"
#include "kernels/attention/forward_params.hpp"
#include "kernels/attention/problem.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emulated/kernel.hpp"
#include "proof/reference/forward_data.hpp"

namespace flashfit::emulated {

/// Every variant of the forward's table, in its order.
const std::vector<EmulatedKernel>& emulated_forwards();

/// Those that make one output of the parts that keys were cut in, in the order of their table.
const std::vector<EmulatedKernel>& emulated_combines();

/// Runs the kernel on a case's memory as the library would launch it, the keys of each sequence in `splits` parts
/// (fewer if they have fewer tiles). `adjust` may change the arguments before. Error: the emulator's finding; kInternal
/// where the plan has no launch for the case.
Result<emu::Stats> run(const EmulatedKernel& kernel, reference::ForwardData& data, emu::Options options,
                       const std::function<void(ForwardParams&)>& adjust = {}, int splits = 1);
/// The same of a call whose tensors lie in `memory`.
Result<emu::Stats> run(const EmulatedKernel& kernel, const ForwardCall& call, const emu::Memory& memory,
                       emu::Options options);

}  // namespace flashfit::emulated
