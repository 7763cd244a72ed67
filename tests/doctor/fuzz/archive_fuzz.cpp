// Any bytes as a static archive, whose members must lie in it.
#include <cstdlib>

#include "doctor/bytes/static_library.hpp"

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flashfit::doctor;
  const auto members = read_archive(MemorySource(std::as_bytes(std::span(data, size))));
  if (!members) return 0;
  for (const ArchiveMember& member : *members)
    if (!within(member.offset, member.size, size)) std::abort();
  return 0;
}
