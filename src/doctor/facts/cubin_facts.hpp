#pragma once
// Cubins as parts of a binary's facts.
#include "doctor/binaries/elf.hpp"
#include "doctor/facts/facts.hpp"
#include "doctor/facts/gpu_sections.hpp"
#include "doctor/facts/program_bytes.hpp"

namespace flashfit::doctor {

/// `binary` is a cubin: one container, and its kernels' resources. What is malformed is Binary::error.
void fill_cubin(const Source& source, const Elf& elf, Binary& binary);

/// Cubins that lie bare in a library's data, outside the sections of fat binaries. What only looks like one is counted
/// as doubtful.
void add_bare_cubins(const ProgramBytes& bytes, const std::vector<GpuSection>& sections, Binary& binary);

}  // namespace flashfit::doctor
