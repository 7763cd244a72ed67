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
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].grid.x == 0) continue;
    const EmulatedKernel& kernel = *kernel_of(steps[i], kernels);
    if (const int words = steps[i].cleared.words)
      std::memset(steps[i].cleared.in(params[i]), 0, words * sizeof(std::uint32_t));
    const bool waits = i + 1 < steps.size() && steps[i + 1].dependent && steps[i + 1].grid.x != 0;
    const EmulatedKernel& next = waits ? *kernel_of(steps[i + 1], kernels) : kernel;
    const bool pair = waits && kernel.program != nullptr && next.program != nullptr;
    const auto ran = [&] {
      if (!pair) {
        options.kernel = kernel.variant.name;
        return kernel.launch(grid_of(steps[i]), params[i], memory, options);
      }
      return emu::run_dependent_grids({kernel.program(params[i]), grid_of(steps[i]), memory, kernel.variant.name},
                                      {next.program(params[i + 1]), grid_of(steps[i + 1]), memory, next.variant.name},
                                      options);
    }();
    if (!ran) return ran;
    all += *ran;
    i += pair ? 1 : 0;
  }
  return all;
}

}  // namespace flashfit::emulated
