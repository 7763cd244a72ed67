#include "runtime/images/carried.hpp"

#include <fmt/format.h>

#include <utility>

#include "runtime/images/catalogue.hpp"

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

const Result<Carried>& carried() {
  static const Result<Carried> once = []() -> Result<Carried> {
    Result<BlobIndex> index = read_blob(embedded_blob());
    if (!index) return tl::unexpected(index.error());
    Result<std::vector<Image>> images = images_of(*index);
    if (!images) return tl::unexpected(images.error());
    return Carried{std::move(*index), std::move(*images)};
  }();
  return once;
}

}  // namespace

Result<std::vector<Image>> images_of(const BlobIndex& index) {
  std::vector<Image> images;
  for (const BlobEntry& e : index.entries) {
    const KernelVariant* variant = find_kernel_variant(e.kernel);
    if (variant == nullptr)
      return fail(Code::kInternal,
                  fmt::format("the images inside this library do not fit its catalogue, which lacks '{}'", e.kernel));
    images.push_back({.variant = variant,
                      .target = e.target,
                      .registers = e.registers,
                      .local_bytes = e.local_bytes,
                      .bytes = e.bytes,
                      .entry = e.entry});
  }
  return images;
}

Result<void> check_carried_images() {
  if (!carried()) return tl::unexpected(carried().error());
  return {};
}

std::span<const Image> carried_images() {
  if (!carried()) return {};
  return carried()->images;
}

Result<std::vector<std::byte>> image_bytes(const Image& image) {
  if (!carried()) return tl::unexpected(carried().error());
  const std::size_t i = static_cast<std::size_t>(&image - carried()->images.data());
  return unpack_image(embedded_blob(), carried()->index, carried()->index.entries[i]);
}

}  // namespace flashfit
