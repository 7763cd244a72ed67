#pragma once
#include <string_view>
#include <vector>

#include "core/launch/image.hpp"

namespace flashfit::cli {

/// What `flashfit emulate` may choose from for an operation: the images that this build carries, or one of each
/// `KernelVariant` and target of the catalogue for a build that was made without a compiler of kernels.
std::vector<Image> images_to_emulate(std::string_view operation);

}  // namespace flashfit::cli
