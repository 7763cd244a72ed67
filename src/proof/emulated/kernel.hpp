#pragma once
// A kernel of the catalogue that the emulator runs, whatever its family.
#include "core/base/error.hpp"
#include "core/launch/kernel_variant.hpp"
#include "proof/emu/index3.hpp"
#include "proof/emu/options.hpp"

namespace flashfit::emu {
class Memory;
}

namespace flashfit::emulated {

struct EmulatedKernel {
  KernelVariant variant;
  /// `params` is the kernel's argument, of variant.params_bytes.
  Result<emu::Stats> (*launch)(emu::Index3 grid, const void* params, const emu::Memory& memory,
                               const emu::Options& options);
};

}  // namespace flashfit::emulated
