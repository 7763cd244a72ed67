#pragma once
// A kernel of the catalogue that the emulator runs, whatever its family.
#include "core/base/error.hpp"
#include "core/launch/image.hpp"
#include "core/launch/kernel_variant.hpp"
#include "proof/emu/grid.hpp"

namespace flashfit::emulated {

struct EmulatedKernel {
  KernelVariant variant;
  /// `params` is the kernel's argument, of variant.params_bytes.
  Result<emu::Stats> (*launch)(emu::Index3 grid, const void* params, const emu::Memory& memory,
                               const emu::Options& options);
  /// What `launch` runs, to be run beside another grid; nullptr: it is run by itself alone.
  emu::Program (*program)(const void* params) = nullptr;
  int cc = 90;  ///< that it is compiled for: from 9.0 on it may begin early, as its code waits
};

/// Its image. From 9.0 on steps begin early, so that what it does before it has waited is found.
inline Image image_of(const EmulatedKernel& kernel) {
  return {.variant = &kernel.variant,
          .target = {.cc = kernel.cc},
          .registers = 0,
          .local_bytes = 0,
          .bytes = 0,
          .entry = {}};
}

}  // namespace flashfit::emulated
