#pragma once
// Images that no compiler made, so that plans do not depend on what a build carries.
#include <vector>

#include "core/launch/image.hpp"

namespace flashfit::test {

/// registers: of machine code; PTX has none.
inline Image uncompiled_image(const KernelVariant& variant, const Target& target, int registers) {
  return {.variant = &variant,
          .target = target,
          .registers = target.kind == Target::Kind::kPtx ? 0 : registers,
          .local_bytes = 0,
          .bytes = 90000,
          .entry = "entry"};
}

/// Each of `variants`, which outlive the images, for each of its targets. registers(variant): of its machine code.
template <class Variants, class Registers>
std::vector<Image> every_image(const Variants& variants, Registers registers) {
  std::vector<Image> images;
  for (const KernelVariant& variant : variants)
    for (const Target& target : variant.targets)
      images.push_back(uncompiled_image(variant, target, registers(variant)));
  return images;
}

}  // namespace flashfit::test
