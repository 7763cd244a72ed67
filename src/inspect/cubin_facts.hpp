#pragma once
// Cubins as parts of a binary's facts.
#include "inspect/elf.hpp"
#include "inspect/facts.hpp"
#include "inspect/gpu_sections.hpp"
#include "inspect/program_bytes.hpp"

namespace flashfit::inspect {

/// `binary` is a cubin: one container, and its kernels' resources. What is malformed is Binary::error.
void fill_cubin(const Source& source, const Elf& elf, Binary& binary);

/// Cubins that lie bare in a library's data, outside the sections of fat binaries. What only looks like one is counted
/// as doubtful.
void add_bare_cubins(const ProgramBytes& bytes, const std::vector<GpuSection>& sections, Binary& binary);

}  // namespace flashfit::inspect
