#pragma once
// Images that no compiler made, so that plans do not depend on what a build carries:
// every variant of the table for every target of it.
#include <algorithm>
#include <vector>

#include "kernels/attention/forward/combine/variants.hpp"
#include "kernels/attention/forward/variants.hpp"
#include "kernels/every_image.hpp"
#include "runtime/images/catalogue.hpp"

namespace flashfit::test {

/// Registers of an image: a rule of the tests' own, near what compilers give and within what the variant promises.
inline int synthetic_registers(const ForwardConfig& c) {
  if (c.engine == ForwardEngine::kWgmma) return 65536 / forward_threads(c) / 8 * 8;
  const int wanted = (c.head_dim_v / c.column_warps + c.block_n) / 2 * (c.block_m * c.column_warps / c.warps / 16) + 90;
  return std::min({wanted, 248, 65536 / (c.warps * 32 * c.min_blocks) / 8 * 8});
}

inline Image synthetic_image(const KernelVariant& variant, Target target) {
  return uncompiled_image(variant, target, synthetic_registers(forward_variant_of(variant).config));
}

inline std::vector<Image> full_catalogue() {
  std::vector<Image> images = every_image(variants_of(kForwardOperation), [](const KernelVariant& variant) {
    return synthetic_registers(forward_variant_of(variant).config);
  });
  std::ranges::move(every_image(variants_of(kCombineOperation), [](const KernelVariant&) { return 48; }),
                    std::back_inserter(images));
  return images;
}

/// The images of one target.
inline std::vector<Image> catalogue_of(Target target) {
  std::vector<Image> images = full_catalogue();
  std::erase_if(images, [&](const Image& i) { return i.target != target; });
  return images;
}

}  // namespace flashfit::test
