#pragma once
// Tensor copies of the running thread: checked, then done as bulk copies.
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/layout/tensor_map.hpp"
#include "kernels/layout/tensor_map_spec.hpp"
#include "proof/emu/site.hpp"

namespace flashfit::emu {

struct TensorCopy {
  const char* what;
  const TensorMap* map;
  std::span<const int> at;  ///< of the box's first element, innermost first
  std::uintptr_t shared;    ///< where the box lies in the block's shared memory
  std::size_t element_bytes;
  Site site;
};

/// `barrier` and `blocks` as in BulkLoad.
void load_box(const TensorCopy& copy, std::uintptr_t barrier, std::uint32_t blocks);
void store_box(const TensorCopy& copy, bool add);
void prefetch_map(const TensorMap& map, Site site);

}  // namespace flashfit::emu
