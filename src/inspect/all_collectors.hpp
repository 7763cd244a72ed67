#pragma once
// The collectors by name, for the list of collect.cpp and for tests.
#include "inspect/collect.hpp"

namespace flashfit::inspect {

/// needed, soname, rpath, runpath, executable_stack, static_tls, versions.
Result<void> collect_elf_needs(const Source& source, const Elf& elf, Binary& binary);
/// needed.
Result<void> collect_pe_needs(const Source& source, const Pe& pe, Binary& binary);

}  // namespace flashfit::inspect
