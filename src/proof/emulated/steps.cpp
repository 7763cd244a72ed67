#include "proof/emulated/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace flashfit::emulated {

Result<emu::Stats> run_steps(std::span<const Step> steps, std::span<const void* const> params,
                             std::span<const EmulatedKernel> kernels, const emu::Memory& memory, emu::Options options) {
  emu::Stats all{};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string& name = steps[i].image->variant->name;
    const auto kernel =
        std::ranges::find(kernels, name, [](const EmulatedKernel& k) -> const std::string& { return k.variant.name; });
    if (kernel == kernels.end()) return fail(Code::kInternal, fmt::format("no emulated kernel is {}", name));
    const Grid& grid = steps[i].grid;
    if (grid.x == 0) continue;
    options.kernel = name;
    if (const int words = steps[i].cleared.words)
      std::memset(steps[i].cleared.in(params[i]), 0, words * sizeof(std::uint32_t));
    const auto ran = kernel->launch({static_cast<int>(grid.x), grid.y, grid.z}, params[i], memory, options);
    if (!ran) return ran;
    all += *ran;
  }
  return all;
}

}  // namespace flashfit::emulated
