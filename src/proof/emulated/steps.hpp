#pragma once
// A plan's steps under the emulator: what runtime/images/loader.hpp is on a GPU.
#include <span>

#include "core/launch/step.hpp"
#include "proof/emulated/kernel.hpp"

namespace flashfit::emulated {

/// Runs the steps one after another on `memory`; params[i] is the argument of step i. Each runs the one of `kernels`
/// that has its image's variant. A step and the dependent ones after it run as emu::run_dependent_grids() has them,
/// each beginning before the one before it has ended; the first of them, if it is dependent, before what was queued
/// before the call has. The counters of all are added up. Error: the first finding.
Result<emu::Stats> run_steps(std::span<const Step> steps, std::span<const void* const> params,
                             std::span<const EmulatedKernel> kernels, const emu::Memory& memory, emu::Options options);

}  // namespace flashfit::emulated
