#pragma once
// One piece of GPU code in a file, by what decides where it runs.
#include <string>

#include "gpu/target.hpp"

namespace flashfit::inspect {

struct CodeEntry {
  enum class Kind : unsigned char { kSass, kPtx };
  /// Which GPUs beyond its own a target names: the plain ones by the ordinary rules, "a" (sm_90a) its own compute
  /// capability alone, "f" (sm_100f) its family.
  enum class Reach : unsigned char { kPlain, kOwn, kFamily };

  Kind kind = Kind::kSass;
  ComputeCapability cc;
  Reach reach = Reach::kPlain;
  int ptx_isa = 0;           ///< of PTX: 88 is 8.8; 0: unknown
  CudaVersion toolkit = 0;   ///< that made it; 0: unknown
  bool zstd = false;         ///< compressed with ZSTD
  bool relocatable = false;  ///< PTX that the driver must link (-rdc), from __nv_relfatbin

  /// "9.0a" for SASS, "9.0a+PTX" for PTX.
  std::string str() const;
};

}  // namespace flashfit::inspect
