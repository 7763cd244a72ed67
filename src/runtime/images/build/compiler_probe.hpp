#pragma once
// What kernels rely on of the compiler that makes their images, and what it is known to get wrong: arrays initialised
// and copied in every way that kernels may use, compiled by the NVRTC of this build and read in its PTX.
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "runtime/images/build/nvrtc.hpp"

namespace flashfit {

/// A way to give the four elements of an array, or of arrays in objects, one value each.
struct Construct {
  const char* name;  ///< "a constructor, two dimensions"
  const char* code;  ///< a struct or two, a semicolon, then statements that store the value in out[0] .. out[3]
  bool relied_on;    ///< false: known to be wrong (docs/nvrtc-array-initialisers.md), only recorded
};

const std::vector<Construct>& constructs();

/// How many of a construct's four elements got their value: the constants that PTX of it stores. A store that comes
/// from a register counts if that register was given the constant. Error: it does not compile, or PTX has no such
/// kernel.
Result<int> elements_initialised(const Construct& construct, const Nvrtc& nvrtc);

/// Error: a construct that kernels rely on is compiled wrongly, by name and compiler. Otherwise a line on those that
/// are known to be wrong: "NVRTC 12.9 initialises 2 of 4 elements of ... (known, not relied on)".
Result<std::string> probe_compiler(const Nvrtc& nvrtc);

}  // namespace flashfit
