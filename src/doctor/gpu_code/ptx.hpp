#pragma once
// The head of a PTX text: which driver can compile it, and for what.
#include "doctor/gpu_code/gpu_code.hpp"

namespace flashfit::doctor {

struct Ptx {
  int isa_major = 0, isa_minor = 0;  ///< .version
  GpuTarget target;                  ///< the first of .target
  int address_bits = 64;             ///< .address_size
};

/// Whether the text begins as PTX does: comments and space, then .version.
bool is_ptx(Bytes text);
/// Whether a text that begins with `start` may begin so.
bool may_be_ptx(Bytes start);

/// Errors: malformed: no .version and .target within the first 64 KB.
Result<Ptx> read_ptx(Bytes text);

}  // namespace flashfit::doctor
