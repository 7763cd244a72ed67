// Any bytes as a DLL, whose sections must lie in it.
#include <cstdlib>

#include "doctor/binaries/pe.hpp"

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flashfit::doctor;
  const auto pe = read_pe(MemorySource(std::as_bytes(std::span(data, size))));
  if (!pe) return 0;
  for (const PeSection& section : pe->sections)
    if (section.size > 0 && !within(section.offset, section.size, size)) std::abort();
  return 0;
}
