#pragma once
// How long L2 is to keep what a copy or load moves, as kernels of all backends pass it on.
#include "core/base/types.hpp"

namespace flashfit::arch {

enum class Eviction : unsigned char {
  kFirst,  ///< read once: the first to go
  kLast,   ///< read by many: the last to go
};

/// What cache_policy() made. A hint: no result depends on it.
struct CachePolicy {
  uint64 bits;
};

}  // namespace flashfit::arch
