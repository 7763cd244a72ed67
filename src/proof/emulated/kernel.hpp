#pragma once
// A kernel of the catalogue that the emulator runs, whatever its family.
#include "core/base/error.hpp"
#include "core/launch/kernel_row.hpp"
#include "proof/emu/index3.hpp"
#include "proof/emu/options.hpp"

namespace flashfit::emu {
class Memory;
}

namespace flashfit::emulated {

struct EmulatedKernel {
  KernelRow row;
  /// `params` is the kernel's argument, of row.params_bytes.
  Result<emu::Stats> (*launch)(emu::Index3 grid, const void* params, const emu::Memory& memory,
                               const emu::Options& options);
};

}  // namespace flashfit::emulated
