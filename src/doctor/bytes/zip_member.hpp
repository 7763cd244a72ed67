#pragma once
// The content of one member of a zip archive, pulled in chunks: no member is ever whole in memory.
#include <vector>

#include "doctor/bytes/inflate.hpp"
#include "doctor/bytes/zip.hpp"

namespace flashfit::doctor {

class ZipMemberReader {
 public:
  /// `source` must outlive the reader; `chunk` is the most that next() gives. Errors: the local header contradicts the
  /// directory.
  static Result<ZipMemberReader> open(const Source& source, const ZipMember& member,
                                      std::size_t chunk = std::size_t{256} << 10);

  /// The next bytes, valid until the next call; empty at the end, which is only reached when length and
  /// CRC are those that the directory promises. Errors: no deflate stream, another length, another CRC. After an error
  /// or the end, do not call again.
  Result<Bytes> next();
  /// Bytes given so far.
  std::uint64_t at() const { return given_; }

 private:
  ZipMemberReader(const Source& source, const ZipMember& member, std::uint64_t data, std::size_t chunk);
  Result<Bytes> next_stored();
  Result<Bytes> next_inflated();
  Result<void> fill();
  Result<Bytes> checked(Bytes chunk);

  const Source* source_;
  ZipMethod method_;
  std::uint32_t promised_crc_, crc_ = 0;
  std::uint64_t size_, given_ = 0;
  std::uint64_t at_, left_;  ///< what of the compressed bytes was not yet read
  bool ended_ = false;       ///< the deflate stream has
  Inflater inflater_;
  Bytes pending_;  ///< read, not yet consumed; lies in input_
  std::vector<std::byte> input_, output_;
};

/// The whole content, if it is at most `limit` bytes.
Result<std::vector<std::byte>> read_member(const Source& source, const ZipMember& member, std::uint64_t limit);

}  // namespace flashfit::doctor
