#include "images/carried.hpp"

#include "images/blob.hpp"

// Made by the linker from the blob file (CMakeLists.txt).
extern "C" {
extern const std::byte
    _binary_images_blob_start[];                   // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
extern const std::byte _binary_images_blob_end[];  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
}

namespace flashfit {
namespace {

std::span<const std::byte> embedded_blob() { return {_binary_images_blob_start, _binary_images_blob_end}; }

struct Carried {
  BlobIndex index;
  std::vector<Image> images;  ///< parallel to index.entries
};

const Carried& carried() {
  static const Carried once = [] {
    Carried c;
    // Damage shows as an empty library here and as an error in image_bytes; there is no third place to say it.
    if (Result<BlobIndex> index = read_blob(embedded_blob())) c.index = std::move(*index);
    // Likewise a name that the table lacks: no plan could use the image.
    std::erase_if(c.index.entries, [](const BlobEntry& e) { return find_forward_variant(e.variant) == nullptr; });
    for (const BlobEntry& e : c.index.entries)
      c.images.push_back({.variant = find_forward_variant(e.variant),
                          .target = e.target,
                          .registers = e.registers,
                          .local_bytes = e.local_bytes,
                          .shared_bytes = e.shared_bytes,
                          .bytes = e.bytes,
                          .entry = e.entry});
    return c;
  }();
  return once;
}

}  // namespace

std::span<const Image> carried_images() { return carried().images; }

Result<std::vector<std::byte>> image_bytes(const Image& image) {
  const std::size_t i = static_cast<std::size_t>(&image - carried().images.data());
  return unpack_image(embedded_blob(), carried().index, carried().index.entries[i]);
}

}  // namespace flashfit
