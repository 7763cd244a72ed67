#pragma once
// The collectors by name, for the list of collect.cpp and for tests.
#include "doctor/facts/collect.hpp"

namespace flashfit::doctor {

/// needed, soname, rpath, runpath, executable_stack, static_tls, versions.
Result<void> collect_elf_needs(const Source& source, const Elf& elf, Binary& binary);
/// containers and toolkit, of images that are packed in the library's own way.
Result<void> collect_image_note(const Source& source, const Elf& elf, Binary& binary);
/// needed.
Result<void> collect_pe_needs(const Source& source, const Pe& pe, Binary& binary);
/// extension; after collect_elf_needs, whose soname it asks for.
Result<void> collect_elf_extension(const Source& source, const Elf& elf, Binary& binary);
Result<void> collect_pe_extension(const Source& source, const Pe& pe, Binary& binary);

}  // namespace flashfit::doctor
