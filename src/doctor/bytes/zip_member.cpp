#include "doctor/bytes/zip_member.hpp"

#include <algorithm>

namespace flashfit::doctor {
namespace {

constexpr std::uint64_t kLocalSize = 30;
constexpr std::uint32_t kLocal = 0x04034b50, kIn64 = 0xffffffff;
constexpr std::uint16_t kSizesFollow = 1 << 3;

}  // namespace

Result<ZipMemberReader> ZipMemberReader::open(const Source& source, const ZipMember& member, std::size_t chunk) {
  const std::uint64_t fixed = kLocalSize + member.name.size();
  const auto bytes = read_part(source, member.header, fixed, fixed, "zip member's header");
  if (!bytes) return tl::unexpected(bytes.error());
  Reader reader(*bytes);
  if (reader.u32() != kLocal) return malformed("zip member's header", member.header);
  reader.skip(2);  // version
  const std::uint16_t flags = reader.u16(), method = reader.u16();
  reader.skip(4);  // time
  const std::uint32_t crc = reader.u32(), compressed = reader.u32(), size = reader.u32();
  const std::uint16_t name = reader.u16(), extra = reader.u16();
  if (name != member.name.size() || as_text(reader.take(name)) != member.name)
    return malformed("zip member's name that differs from the directory's", member.header + kLocalSize);
  const bool follow = (flags & kSizesFollow) != 0;
  const auto differs = [](std::uint32_t here, std::uint64_t there) { return here != kIn64 && here != there; };
  if (method != static_cast<std::uint16_t>(member.method) || flags != member.flags ||
      (!follow && (crc != member.crc || differs(compressed, member.compressed) || differs(size, member.size))))
    return malformed("zip member's header that differs from the directory's", member.header);
  if (!within(member.header + fixed, extra + member.compressed, member.end))
    return malformed("zip member that overlaps what follows", member.header);
  return ZipMemberReader(source, member, member.header + fixed + extra, chunk);
}

ZipMemberReader::ZipMemberReader(const Source& source, const ZipMember& member, std::uint64_t data, std::size_t chunk)
    : source_(&source),
      method_(member.method),
      promised_crc_(member.crc),
      size_(member.size),
      at_(data),
      left_(member.compressed),
      input_(static_cast<std::size_t>(std::min<std::uint64_t>(chunk, member.compressed))),
      // One byte more than the promise, so that a longer stream shows itself.
      output_(method_ == ZipMethod::kStored
                  ? 0
                  : static_cast<std::size_t>(std::min<std::uint64_t>(chunk, member.size + 1))) {}

Result<void> ZipMemberReader::fill() {
  const std::span<std::byte> into(input_.data(),
                                  static_cast<std::size_t>(std::min<std::uint64_t>(input_.size(), left_)));
  if (!source_->read(at_, into)) return malformed("zip member's bytes cannot be read", at_);
  at_ += into.size();
  left_ -= into.size();
  pending_ = into;
  return {};
}

Result<Bytes> ZipMemberReader::checked(Bytes chunk) {
  if (chunk.size() > size_ - given_) return malformed("zip member longer than the directory says", at_);
  given_ += chunk.size();
  crc_ = crc32(crc_, chunk);
  if (!chunk.empty()) return chunk;
  if (given_ != size_) return malformed("zip member shorter than the directory says", at_);
  if (crc_ != promised_crc_) return malformed("zip member whose CRC is another", at_);
  return Bytes{};
}

Result<Bytes> ZipMemberReader::next_stored() {
  if (left_ == 0) return checked({});
  if (auto filled = fill(); !filled) return tl::unexpected(filled.error());
  return checked(pending_);
}

Result<Bytes> ZipMemberReader::next_inflated() {
  std::size_t produced = 0;
  while (!ended_ && produced < output_.size()) {
    if (pending_.empty() && left_ > 0)
      if (auto filled = fill(); !filled) return tl::unexpected(filled.error());
    const auto step = inflater_.step(pending_, std::span(output_).subspan(produced));
    if (!step) return malformed(step.error().message, at_ - pending_.size());
    pending_ = pending_.subspan(step->consumed);
    produced += step->produced;
    ended_ = step->done;
    const bool stuck = step->consumed == 0 && step->produced == 0;
    if (!ended_ && stuck && left_ == 0) return malformed("deflate stream cut short", at_);
    if (!ended_ && stuck && !pending_.empty()) return malformed("deflate stream that goes no further", at_);
  }
  return checked(Bytes(output_).first(produced));
}

Result<Bytes> ZipMemberReader::next() {
  if (method_ == ZipMethod::kStored) return next_stored();
  auto chunk = next_inflated();
  if (chunk && chunk->empty() && (!pending_.empty() || left_ > 0))
    return malformed("bytes after the deflate stream", at_ - pending_.size());
  return chunk;
}

Result<std::vector<std::byte>> read_member(const Source& source, const ZipMember& member, std::uint64_t limit) {
  if (member.size > limit)
    return beyond(fmt::format("size of a zip member of {} bytes", member.size), limit, member.header);
  auto reader = ZipMemberReader::open(source, member);
  if (!reader) return tl::unexpected(reader.error());
  std::vector<std::byte> content;
  for (;;) {
    const auto chunk = reader->next();
    if (!chunk) return tl::unexpected(chunk.error());
    if (chunk->empty()) return content;
    content.insert(content.end(), chunk->begin(), chunk->end());
  }
}

}  // namespace flashfit::doctor
