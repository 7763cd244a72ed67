// In place of the library's images: one of machine code (8.9) and one of PTX (8.0) for every variant of the catalogue,
// in a form that the fake driver takes.
#include "runtime/images/carried.hpp"

#include "fake_cuda.hpp"
#include "runtime/images/catalogue.hpp"

namespace flashfit {
namespace {

std::vector<Image> made_images() {
  std::vector<Image> images;
  for (const KernelVariant& variant : catalogue()) {
    const std::string entry = "kernel_" + variant.name;
    images.push_back({&variant, {89, Target::Kind::kSass}, 168, 0, 1000, entry});
    images.push_back({&variant, {80, Target::Kind::kPtx}, 0, 0, 1000, entry});
  }
  return images;
}

}  // namespace

Result<void> check_carried_images() { return {}; }

std::span<const Image> carried_images() {
  static const std::vector<Image>& images = *new std::vector<Image>(made_images());
  return images;
}

Result<std::vector<std::byte>> image_bytes(const Image& image) {
  if (image.target.kind == Target::Kind::kSass) return fake_cuda::make_image(image.target.cc, image.entry);
  const std::string text = ".version 8.8\n.visible .entry " + image.entry;
  const auto* first = reinterpret_cast<const std::byte*>(text.c_str());
  return std::vector<std::byte>(first, first + text.size() + 1);
}

}  // namespace flashfit
