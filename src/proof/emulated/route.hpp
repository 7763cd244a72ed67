#pragma once
// The router's kernels on the CPU, as forward.hpp has the forward's.
#include <vector>

#include "proof/emulated/kernel.hpp"
#include "proof/reference/route.hpp"

namespace flashfit::emulated {

/// Every variant of the router's table, in its order.
const std::vector<EmulatedKernel>& emulated_routes();

/// Runs the kernel on a case's memory as the library would launch it. Error: the emulator's finding.
Result<emu::Stats> run(const EmulatedKernel& kernel, reference::RouteData& data, const emu::Options& options);

}  // namespace flashfit::emulated
