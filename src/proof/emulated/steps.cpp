#include "proof/emulated/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace flashfit::emulated {
namespace {

const EmulatedKernel* kernel_of(const Step& step, std::span<const EmulatedKernel> kernels) {
  const auto found = std::ranges::find(kernels, step.image->variant->name,
                                       [](const EmulatedKernel& k) -> const std::string& { return k.variant.name; });
  return found == kernels.end() ? nullptr : &*found;
}

emu::Index3 grid_of(const Step& step) { return {static_cast<int>(step.grid.x), step.grid.y, step.grid.z}; }

}  // namespace

Result<emu::Stats> run_steps(std::span<const Step> steps, std::span<const void* const> params,
                             std::span<const EmulatedKernel> kernels, const emu::Memory& memory, emu::Options options) {
  for (const Step& step : steps)
    if (kernel_of(step, kernels) == nullptr)
      return fail(Code::kInternal, fmt::format("no emulated kernel is {}", step.image->variant->name));
  emu::Stats all{};
  for (std::size_t i = 0, end = 0; i < steps.size(); i = std::max(end, i + 1)) {
    if (steps[i].grid.x == 0) continue;
    const EmulatedKernel& first = *kernel_of(steps[i], kernels);
    if (const int words = steps[i].cleared.words)
      std::memset(steps[i].cleared.in(params[i]), 0, words * sizeof(std::uint32_t));
    std::vector<emu::GridLaunch> grids;
    for (end = i; end < steps.size() && (end == i || steps[end].dependent()); ++end) {
      const EmulatedKernel& kernel = *kernel_of(steps[end], kernels);
      if (kernel.program == nullptr) break;
      if (steps[end].grid.x > 0)
        grids.push_back({kernel.program(params[end]), grid_of(steps[end]), memory, kernel.variant.name});
    }
    options.kernel = first.variant.name;
    // Where a step runs by itself, those before it have ended.
    options.begins_early = all.blocks == 0 && steps[i].dependent();
    const auto ran = grids.size() > 1 ? emu::run_dependent_grids(grids, options)
                                      : first.launch(grid_of(steps[i]), params[i], memory, options);
    if (!ran) return ran;
    all += *ran;
  }
  return all;
}

}  // namespace flashfit::emulated
