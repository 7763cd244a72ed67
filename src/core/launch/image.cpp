#include "core/launch/image.hpp"

#include <algorithm>

namespace flashfit {

std::span<const Image> images_of(std::string_view operation, std::span<const Image> images) {
  const auto of_operation = [&](const Image& image) { return image.variant->family->operation == operation; };
  const auto first = std::ranges::find_if(images, of_operation);
  return {first, std::find_if_not(first, images.end(), of_operation)};
}

}  // namespace flashfit
