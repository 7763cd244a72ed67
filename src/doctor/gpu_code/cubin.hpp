#pragma once
// Cubins: ELF files of machine code for one kind of GPU.
#include <string>
#include <vector>

#include "core/gpu/target.hpp"
#include "doctor/binaries/elf.hpp"
#include "doctor/gpu_code/gpu_code.hpp"

namespace flashfit::doctor {

struct CubinKernel {
  std::string name;               ///< mangled
  int registers = 0;              ///< of a thread; 0: not said
  std::uint64_t stack_bytes = 0;  ///< local memory of a thread
  std::uint64_t static_shared_bytes =
      0;                       ///< of a block, with the 1 KB that 9.0 and later reserve; dynamic memory is the launch's
  int max_threads = 0;         ///< of a block: __launch_bounds__; 0: not said
  bool exact_threads = false;  ///< a block must have just these: PTX's .reqntid
};

struct Cubin {
  GpuTarget target;
  int abi = 0;                               ///< 7 or 8
  int toolkit_major = 0, toolkit_minor = 0;  ///< 12.9, each 0 to 99; 0: not said
  std::vector<CubinKernel> kernels;          ///< in the order of the symbols

  CudaVersion toolkit() const { return toolkit_major * 1000 + toolkit_minor * 10; }
};

inline bool is_cubin(const Elf& elf) { return elf.machine == kMachineCuda; }

/// `elf` is what read_elf(source) gave. Errors: malformed; more than 65,536 kernels, 32 MB of their names.
Result<Cubin> read_cubin(const Source& source, const Elf& elf);

}  // namespace flashfit::doctor
