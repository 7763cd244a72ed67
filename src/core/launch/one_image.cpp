#include "core/launch/one_image.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace flashfit {

Result<const Image*> plan_one_image(std::string_view what, std::span<const Image> images, const GpuWithDriver& on,
                                    const std::function<bool(const Image&)>& of) {
  if (auto error = misfit_of_driver(on.gpu, on.driver)) return tl::unexpected(std::move(*error));
  if (std::ranges::none_of(images, of))
    return tl::unexpected(misfit(fmt::format("{}: this build of flashfit carries no image for it", what)));
  if (auto error = misfit_of_loading(what, images, on, of)) return tl::unexpected(std::move(*error));
  const Image* best = nullptr;
  const auto serves = [&](const Image& image) { return of(image); };
  for_each_best_image(images, on, serves, [&](const Image& image) { best = &image; });
  return best;
}

}  // namespace flashfit
