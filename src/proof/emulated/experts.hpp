#pragma once
// The experts' kernels on the CPU, as forward.hpp has the forward's.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kernels/moe/experts/plan.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emulated/kernel.hpp"
#include "proof/reference/experts.hpp"

namespace flashfit::emulated {

/// Every variant of the two tables, in their order: those that sort and add up, then the products.
const std::vector<EmulatedKernel>& emulated_experts_rows();
const std::vector<EmulatedKernel>& emulated_experts_products();

/// Of the same dtype as a product. `all` is emulated_experts_rows(), or the like.
const EmulatedKernel& rows_kernel_for(const EmulatedKernel& product, const std::vector<EmulatedKernel>& all);

/// Over wgmma blocks are persistent and share the tiles: so few that each of them computes several.
inline constexpr std::int64_t kResidentBlocks = 3;

/// Steps that are queued before a call's, as a router's are, and write its ids and weights.
struct StepsBefore {
  Steps steps;
  std::span<const void* const> arguments;             ///< of each step
  const EmulatedKernel* kernel;                       ///< of all these steps
  std::function<void(emu::Memory&)> add_memory = {};  ///< what they read, or write besides
};

/// Runs all launches of a call on a case's memory as the library would queue them, in a workspace of poison. `adjust`
/// may change the call before, also to one with a map or offsets; `after` may look at the workspace. Error: the
/// emulator's finding.
Result<emu::Stats> run(const EmulatedKernel& rows, const EmulatedKernel& product, reference::ExpertsData& data,
                       const emu::Options& options, int phase_columns = 0,
                       const std::function<void(ExpertsCall&)>& adjust = {},
                       const std::function<void(const ExpertsCall&)>& after = {},
                       const std::optional<StepsBefore>& before = {});

}  // namespace flashfit::emulated
