#include "hardware/images.hpp"

#include <fmt/format.h>

#include "runtime/images/carried.hpp"

namespace flashfit::hardware {

std::vector<LoadedImage> load_images(lab::Device& device, const KernelVariant& variant, Outcome& outcome) {
  std::vector<LoadedImage> images;
  for (const Image& image : carried_images()) {
    if (image.variant->name != variant.name || !runs_on(image.target, device.gpu().cc)) continue;
    const Result<std::vector<std::byte>> bytes = image_bytes(image);
    const Result<lab::LoadedKernel> loaded =
        bytes ? device.load(*bytes, image.entry, image.variant->threads, image.variant->shared_bytes)
              : Result<lab::LoadedKernel>(tl::unexpected(bytes.error()));
    if (loaded)
      images.push_back({image.target.str(), *loaded});
    else
      outcome.fail(fmt::format("on the GPU: {}: {}", image.target.str(), loaded.error().message));
  }
  return images;
}

}  // namespace flashfit::hardware
