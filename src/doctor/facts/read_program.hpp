#pragma once
// ELF and PE files: libraries, programs, objects, cubins.
#include "doctor/bytes/content.hpp"
#include "doctor/facts/facts.hpp"

namespace flashfit::doctor {

/// What is malformed in the file is Binary::error. Errors: the content cannot be read; tables all over a deflated
/// member; more than KeptSource's 128 MB of them.
Result<Binary> read_elf_program(const Content& content, const std::string& path);
Result<Binary> read_pe_program(const Content& content, const std::string& path);

}  // namespace flashfit::doctor
