#pragma once
// One carried kernel image, as the plan and `flashfit images` see it: what it is of, what it runs on, what it needs.
#include <cstddef>
#include <span>
#include <string>

#include "core/base/error.hpp"
#include "core/launch/kernel_row.hpp"

namespace flashfit {

struct Image {
  const KernelRow* row;  ///< of the catalogue
  Target target;
  int registers;      ///< a thread; 0 for PTX (the driver allocates)
  int local_bytes;    ///< a thread: stack and spills
  std::size_t bytes;  ///< uncompressed
  std::string entry;  ///< the kernel's (mangled) name in the image

  bool ptx() const { return target.kind == Target::Kind::kPtx; }
};

/// Everything this library carries, in the order of the catalogue, then by target. Read once from the embedded
/// index; nothing where check_carried_images() fails.
std::span<const Image> carried_images();

/// Error: Code::kInternal if the embedded index is damaged or names a kernel that the catalogue lacks.
Result<void> check_carried_images();

/// Those of one family, of a list in which they lie together.
std::span<const Image> images_of(const KernelFamily& family, std::span<const Image> images);

}  // namespace flashfit
