#include "core/launch/image.hpp"

#include <algorithm>

namespace flashfit {

std::span<const Image> images_of(const KernelFamily& family, std::span<const Image> images) {
  const auto of_family = [&](const Image& image) { return image.row->family == &family; };
  const auto first = std::ranges::find_if(images, of_family);
  return {first, std::find_if_not(first, images.end(), of_family)};
}

}  // namespace flashfit
