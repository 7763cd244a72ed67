#pragma once
// One carried kernel image, as the plan and `flashfit images` see it: what it is of, what it runs on, what it needs.
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/launch/kernel_variant.hpp"

namespace flashfit {

struct Image {
  const KernelVariant* variant;  ///< of the catalogue
  Target target;
  int registers;      ///< a thread; 0 for PTX (the driver allocates)
  int local_bytes;    ///< a thread: stack and spills
  std::size_t bytes;  ///< uncompressed
  std::string entry;  ///< the kernel's (mangled) name in the image

  bool ptx() const { return target.kind == Target::Kind::kPtx; }
};

/// Those of one operation, of a list in which they lie together.
std::span<const Image> images_of(std::string_view operation, std::span<const Image> images);

}  // namespace flashfit
