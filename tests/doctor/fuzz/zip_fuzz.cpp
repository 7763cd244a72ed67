// Any bytes as a zip archive: every member is read as far as it goes.
#include <cstdlib>

#include "doctor/bytes/zip_member.hpp"

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flashfit::doctor;
  const MemorySource source(std::as_bytes(std::span(data, size)));
  const auto members = read_zip_directory(source, {.content_bytes = 16 << 20});
  if (!members) return 0;
  for (const ZipMember& member : *members) {
    const auto content = read_member(source, member, 1 << 20);
    if (content && content->size() != member.size) std::abort();
  }
  return 0;
}
