#pragma once
// One piece of GPU code in a file, by what decides where it runs.
#include <string>

#include "core/gpu/target.hpp"
#include "doctor/gpu_code/gpu_code.hpp"

namespace flashfit::doctor {

struct CodeEntry {
  enum class Kind : unsigned char { kSass, kPtx };

  Kind kind = Kind::kSass;
  GpuTarget target;
  int ptx_isa = 0;           ///< of PTX: 88 is 8.8; 0: unknown
  CudaVersion toolkit = 0;   ///< that made it; 0: unknown
  bool zstd = false;         ///< compressed with ZSTD
  bool relocatable = false;  ///< PTX that the driver must link (-rdc), from __nv_relfatbin

  ComputeCapability cc() const { return {target.architecture / 10, target.architecture % 10}; }
  /// "9.0a" for SASS, "9.0a+PTX" for PTX.
  std::string str() const;
};

}  // namespace flashfit::doctor
