#pragma once
// One carried kernel image, as the plan and `flashfit images` see it: what it is of, what it runs on, what it needs.
#include <cstddef>
#include <span>
#include <string>

#include "attention/variants.hpp"
#include "base/error.hpp"
#include "gpu/target.hpp"

namespace flashfit {

struct Image {
  const ForwardVariant* variant;
  Target target;
  int registers;      ///< a thread; 0 for PTX (the driver allocates)
  int local_bytes;    ///< a thread: stack and spills
  int shared_bytes;   ///< dynamic shared memory of a block
  std::size_t bytes;  ///< uncompressed
  std::string entry;  ///< the kernel's (mangled) name in the image
};

/// Everything this library carries, in the order of the variant table, then by target. Read once from the embedded
/// index; nothing where check_carried_images() fails.
std::span<const Image> carried_images();

/// Error: Code::kInternal if the embedded index is damaged or names a kernel that the table lacks.
Result<void> check_carried_images();

}  // namespace flashfit
