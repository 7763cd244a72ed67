#pragma once
// GPU code by its targets: cubins with kernels, PTX, and the containers that hold them.
#include <string>
#include <vector>

#include "doctor/made/fatbin.hpp"

namespace flashfit::doctor::test {

struct MadeKernel {
  std::string name;
  std::uint32_t registers = 40, stack = 0, shared = 0;  ///< shared: static, bytes of a block
  std::uint32_t max_threads = 0;                        ///< 0: not said
};

struct MadeCode {
  std::vector<std::string> targets;  ///< "8.0", "9.0a", "9.0+PTX"
  std::vector<MadeKernel> kernels = {{.name = "_Z4kerni"}};
  int toolkit = 128;  ///< 12.8: of cubins below 10.0, and the PTX's ISA follows from it; 10.0 and later are of 13.0
  bool zstd = false;  ///< entries compressed so
};

/// A cubin of one target.
std::vector<std::byte> make_image(const std::string& target, const std::vector<MadeKernel>& kernels, int toolkit = 128);
/// PTX of one target, with the kernels' names.
std::string make_ptx(const std::string& target, const std::vector<MadeKernel>& kernels, int isa = 87);
/// One container with an entry for each target.
std::vector<std::byte> make_container(const MadeCode& code);
/// Containers one after the other, as .nv_fatbin has them.
std::vector<std::byte> make_containers(const std::vector<MadeCode>& containers);

}  // namespace flashfit::doctor::test
