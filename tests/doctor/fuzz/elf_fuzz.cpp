// Any bytes as an ELF file: all that is read of a library and of an object.
#include "doctor/binaries/elf_dynamic.hpp"
#include "doctor/binaries/elf_notes.hpp"
#include "doctor/binaries/elf_symbols.hpp"
#include "doctor/binaries/elf_version_definitions.hpp"

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flashfit::doctor;
  const Bytes bytes = std::as_bytes(std::span(data, size));
  const MemorySource source(bytes);
  (void)read_elf_notes(bytes, 0);
  const auto elf = read_elf(source);
  if (!elf) return 0;
  (void)wants_executable_stack(*elf);
  (void)read_elf_dynamic(source, *elf);
  (void)read_elf_symbols(source, *elf, kSectionDynamicSymbols);
  (void)read_elf_symbols(source, *elf, kSectionSymbols);
  (void)read_elf_version_needs(source, *elf);
  (void)read_elf_version_definitions(source, *elf);
  return 0;
}
