#include "core/launch/choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/gpu/driver_versions.hpp"

namespace flashfit {
namespace {

std::string needed(CudaVersion version) {
  return fmt::format("CUDA {} (driver {}) or newer is needed", str(version), first_branch(version));
}

/// "7.5, 8.0, 8.0+PTX": the targets of the images that `of` accepts, oldest first.
std::string targets(std::span<const Image> images, const std::function<bool(const Image&)>& of) {
  std::set<Target> found;
  for (const Image& i : images)
    if (of(i)) found.insert(i.target);
  std::vector<std::string> names;
  for (const Target& t : found) names.push_back(t.str());
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

bool loads(const GpuWithDriver& on, const Image& image) {
  return runs_on(image.target, on.gpu.cc) &&
         (image.ptx() ? driver_compiles_ptx(on.driver) : !on.ptx_only && driver_loads_sass(on.driver));
}

std::string describe(const Gpu& gpu) { return fmt::format("{} ({})", gpu.name, gpu.cc.str()); }

Error misfit(std::string message) { return {Code::kMisfit, std::move(message)}; }

std::optional<Error> misfit_of_driver(const Gpu& gpu, CudaVersion driver) {
  if (!driver_loads_sass(driver))
    return misfit(fmt::format("driver: CUDA {} is too old for flashfit's images; {}", str(driver), needed(12000)));
  if (driver != 0 && driver < first_driver_for(gpu.cc))
    return misfit(fmt::format("driver: CUDA {} does not know {}; {}", str(driver), describe(gpu),
                              needed(first_driver_for(gpu.cc))));
  return std::nullopt;
}

std::optional<Error> misfit_of_loading(std::string_view what, std::span<const Image> images, const GpuWithDriver& on,
                                       const std::function<bool(const Image&)>& of) {
  const auto runs = [&](const Image& i) { return of(i) && runs_on(i.target, on.gpu.cc); };
  if (std::ranges::none_of(images, runs)) {
    const bool older =
        std::ranges::all_of(images, [&](const Image& i) { return !of(i) || i.target.cc > on.gpu.cc.decimal(); });
    return misfit(fmt::format("{} {} of {}: carried are {}", describe(on.gpu),
                              older ? "is older than every image" : "can load no image", what, targets(images, of)));
  }
  if (std::ranges::any_of(images, [&](const Image& i) { return of(i) && loads(on, i); })) return std::nullopt;
  if (on.ptx_only && driver_compiles_ptx(on.driver))
    return misfit(fmt::format("PTX only: no PTX of {} that {} takes; carried are {}", what, describe(on.gpu),
                              targets(images, of)));
  return misfit(fmt::format("driver: of {} only PTX ({}) fits {}, and CUDA {} cannot compile it; {}", what,
                            targets(images, runs), describe(on.gpu), str(on.driver), needed(12090)));
}

}  // namespace flashfit
