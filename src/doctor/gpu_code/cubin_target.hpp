#pragma once
// The target and the toolkit of a cubin: read by read_cubin (cubin.hpp).
#include "doctor/gpu_code/cubin.hpp"

namespace flashfit::doctor {

/// Sets target, abi and toolkit. Which field holds them is a matter of the toolkit: docs/doctor.md, "What is read".
Result<void> read_cubin_target(const Source& source, const Elf& elf, Cubin& cubin);

}  // namespace flashfit::doctor
