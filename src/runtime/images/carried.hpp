#pragma once
// The bytes of carried images. The blob that src/runtime/images/build packed lies in the library's
// read-only data; nothing is unpacked before it is needed.
#include <cstddef>
#include <vector>

#include "core/base/error.hpp"
#include "runtime/images/blob.hpp"
#include "core/launch/image.hpp"

namespace flashfit {

/// The images of an index, each with its row of the catalogue. Error: Code::kInternal if the catalogue lacks a kernel.
Result<std::vector<Image>> images_of(const BlobIndex& index);

/// The image, decompressed: a cubin, or zero-terminated PTX text. `image` must be an element of carried_images().
/// Error: Code::kInternal if the embedded data is damaged.
Result<std::vector<std::byte>> image_bytes(const Image& image);

}  // namespace flashfit
