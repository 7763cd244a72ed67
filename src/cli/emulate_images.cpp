#include "cli/emulate_images.hpp"

#include "runtime/images/carried.hpp"
#include "runtime/images/catalogue.hpp"

namespace flashfit::cli {

std::vector<Image> images_to_emulate(std::string_view operation) {
  if (!carried_images().empty()) return {carried_images().begin(), carried_images().end()};
  std::vector<Image> all;
  for (const KernelVariant& variant : variants_of(operation))
    for (const Target& target : variant.targets)
      all.push_back({.variant = &variant, .target = target, .registers = 0, .local_bytes = 0, .bytes = 0, .entry = {}});
  return all;
}

}  // namespace flashfit::cli
