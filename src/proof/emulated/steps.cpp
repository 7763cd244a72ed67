#include "proof/emulated/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

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
  const auto is_dependent = [&](std::size_t i) { return i < steps.size() && steps[i].dependent; };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].grid.x == 0) continue;
    const EmulatedKernel& kernel = *kernel_of(steps[i], kernels);
    if (const int words = steps[i].cleared.words)
      std::memset(steps[i].cleared.in(params[i]), 0, words * sizeof(std::uint32_t));
    const bool alone = options.schedule == emu::Schedule::kReversed && !is_dependent(i) && is_dependent(i + 2);
    const Step* const next = is_dependent(i + 1) && !alone ? &steps[i + 1] : nullptr;
    const EmulatedKernel* const dependent = next == nullptr || next->grid.x == 0 ? nullptr : kernel_of(*next, kernels);
    const bool pair = dependent != nullptr && kernel.program != nullptr && dependent->program != nullptr;
    options.kernel = kernel.variant.name;
    const auto ran =
        pair ? emu::run_dependent_grids(
                   {kernel.program(params[i]), grid_of(steps[i]), memory, kernel.variant.name},
                   {dependent->program(params[i + 1]), grid_of(*next), memory, dependent->variant.name}, options)
             : kernel.launch(grid_of(steps[i]), params[i], memory, options);
    if (!ran) return ran;
    all += *ran;
    i += pair ? 1 : 0;
  }
  return all;
}

}  // namespace flashfit::emulated
