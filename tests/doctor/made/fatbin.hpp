#pragma once
// Fat binaries of any soundness.
#include <string>

#include "doctor/gpu_code/fatbin.hpp"
#include "doctor/made/bytes.hpp"

namespace flashfit::doctor::test {

struct MadeEntry {
  FatbinKind kind = FatbinKind::kElf;
  std::uint32_t architecture = 90;
  std::uint64_t flags = 0x11;
  std::uint16_t major = 1, minor = 7;
  std::vector<std::byte> payload = {};
  std::uint64_t plain = 0;  ///< the size before compression, if the payload is compressed
  std::string options = "";
  std::uint32_t header = 0x48;  ///< bytes, before options
};

/// One container.
inline std::vector<std::byte> make_fatbin(const std::vector<MadeEntry>& entries) {
  MadeBytes body;
  for (const MadeEntry& e : entries) {
    const std::size_t begin = body.size();
    const std::size_t padded = (e.payload.size() + 7) / 8 * 8;
    const std::size_t options = e.options.empty() ? 0 : (8 + e.options.size() + 1 + 7) / 8 * 8;
    body.u16(static_cast<std::uint16_t>(e.kind)).u16(0x0101).u32(e.header + options).u64(padded);
    body.u32(e.plain == 0 ? 0 : e.payload.size()).u32(e.options.empty() ? 0 : e.header);
    body.u16(e.minor).u16(e.major).u32(e.architecture).u64(0).u64(e.flags).u64(0).u64(e.plain);
    body.pad_to(begin + e.header);
    if (!e.options.empty()) body.u32(e.header + 8).u32(e.options.size() + 1).add(e.options).u8(0).align(8);
    body.add(e.payload).align(8);
  }
  return MadeBytes().u32(0xba55ed50).u16(1).u16(16).u64(body.size()).add(body.bytes()).bytes();
}

}  // namespace flashfit::doctor::test
