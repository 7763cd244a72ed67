#pragma once
// What this library carries. The blob that src/runtime/images/build packed lies in the library's
// read-only data; nothing is unpacked before it is needed.
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/launch/image.hpp"
#include "runtime/images/blob.hpp"

namespace flashfit {

/// Everything this library carries, in the order of the catalogue, then by target. Read once from the embedded
/// index; nothing where check_carried_images() fails.
std::span<const Image> carried_images();

/// Error: Code::kInternal if the embedded index is damaged or names a kernel that the catalogue lacks.
Result<void> check_carried_images();

/// The images of an index, each with its variant of the catalogue. Error: Code::kInternal if the catalogue lacks a
/// kernel.
Result<std::vector<Image>> images_of(const BlobIndex& index);

/// The image, decompressed: a cubin, or zero-terminated PTX text. `image` must be an element of carried_images().
/// Error: Code::kInternal if the embedded data is damaged.
Result<std::vector<std::byte>> image_bytes(const Image& image);

}  // namespace flashfit
