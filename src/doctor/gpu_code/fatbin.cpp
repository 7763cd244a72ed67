#include "doctor/gpu_code/fatbin.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::uint16_t kVersion = 1, kEntryVersion = 0x0101;
constexpr std::uint64_t kLongestOptions = 1024;

}  // namespace

bool is_fatbin(Bytes head) { return begins_fatbin(Reader(head).u32()); }

Result<FatbinContainer> read_container_header(Bytes bytes, std::uint64_t offset) {
  Reader reader(bytes);
  if (!begins_fatbin(reader.u32())) return malformed("no fatbin container", offset);
  const std::uint16_t version = reader.u16(), header = reader.u16();
  const std::uint64_t size = reader.u64();
  if (!reader.ok()) return malformed("fatbin container cut short", offset);
  if (version != kVersion || header != kFatbinHeaderSize) return malformed("version of a fatbin container", offset + 4);
  if (size > std::numeric_limits<std::uint64_t>::max() - kFatbinHeaderSize)
    return malformed("size of a fatbin container", offset + 8);
  return FatbinContainer{.offset = offset, .size = kFatbinHeaderSize + size, .entries = {}};
}

Result<std::uint32_t> read_entry_header_size(Bytes bytes, std::uint64_t offset) {
  Reader reader(bytes);
  reader.skip(2);
  const std::uint16_t version = reader.u16();
  const std::uint32_t size = reader.u32();
  if (!reader.ok() || version != kEntryVersion) return malformed("version of a fatbin entry", offset + 2);
  if (size < kFatbinLeastEntryHeader || size > kFatbinMostEntryHeader)
    return malformed("header length of a fatbin entry", offset + 4);
  return size;
}

Result<FatbinEntry> read_entry(Bytes header, std::uint64_t offset) {
  Reader reader(header);
  FatbinEntry entry;
  entry.kind = static_cast<FatbinKind>(reader.u16());
  reader.skip(2);
  const std::uint32_t header_size = reader.u32();
  entry.size = reader.u64();
  entry.compressed = reader.u32();
  const std::uint32_t options = reader.u32();
  entry.minor = reader.u16();
  entry.major = reader.u16();
  entry.architecture = reader.u32();
  reader.skip(8);  // identifier
  entry.flags = reader.u64();
  reader.skip(8);
  entry.uncompressed = reader.u64();
  if (!reader.ok() || header_size != header.size()) return malformed("fatbin entry cut short", offset);
  if (entry.compressed > entry.size) return malformed("compressed size of a fatbin entry", offset + 0x10);
  entry.offset = offset + header_size;
  if (options != 0) {
    Reader record(header, options);
    const std::uint32_t at = record.u32(), length = record.u32();
    const auto text = record.ok() ? part(header, at, length) : std::nullopt;
    if (!text || length > kLongestOptions) return malformed("options of a fatbin entry", offset + 0x14);
    entry.options = as_text(*text).substr(0, as_text(*text).find('\0'));
  }
  return entry;
}

}  // namespace flashfit::doctor
