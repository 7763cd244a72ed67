#pragma once
// The directory of a zip archive (PKWARE APPNOTE 6.3.10), as strict as wheels allow: what two readers could take for
// two different archives is refused.
#include <string>
#include <vector>

#include "doctor/bytes/source.hpp"

namespace flashfit::doctor {

enum class ZipMethod : std::uint16_t { kStored = 0, kDeflated = 8 };

struct ZipMember {
  std::string name;  ///< relative, with '/', no "..", no control character; a folder's ends with '/'
  ZipMethod method = ZipMethod::kStored;
  std::uint16_t flags = 0;       ///< general purpose bits; bit 3: sizes follow the data
  std::uint32_t crc = 0;         ///< CRC-32 of the content
  std::uint64_t compressed = 0;  ///< bytes in the archive
  std::uint64_t size = 0;        ///< bytes of content; at most 1032 x compressed, deflate's best
  std::uint64_t header = 0;      ///< offset of the local header
  std::uint64_t end = 0;         ///< offset of what comes next: another local header or the directory
};

struct ZipLimits {
  std::uint64_t members = 1'000'000;
  std::uint64_t directory_bytes = std::uint64_t{256} << 20;
  std::uint64_t member_bytes = std::uint64_t{32} << 30;   ///< content of one member
  std::uint64_t content_bytes = std::uint64_t{64} << 30;  ///< content of all
};

/// Whether the first four bytes open a zip archive.
bool is_zip(Bytes head);

/// The members in the order of the directory. Errors: malformed (encryption, another method, several disks, names
/// twice, members that overlap, sizes that cannot be, bytes before the archive) or beyond a limit.
Result<std::vector<ZipMember>> read_zip_directory(const Source& source, const ZipLimits& limits = {});

}  // namespace flashfit::doctor
