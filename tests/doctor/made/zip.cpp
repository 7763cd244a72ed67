#include "doctor/made/zip.hpp"

#include <zlib.h>

namespace flashfit::doctor::test {
namespace {

const unsigned char* raw(const std::string& text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::string deflate_raw(const std::string& text) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = const_cast<unsigned char*>(raw(text));
  stream.avail_in = static_cast<unsigned>(text.size());
  stream.next_out = reinterpret_cast<unsigned char*>(packed.data());
  stream.avail_out = static_cast<unsigned>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

struct Written {
  std::uint64_t crc, compressed;
};

}  // namespace

MadeZip make_zip(const std::vector<MadeMember>& members, bool wide) {
  MadeZip zip;
  MadeBytes out;
  std::vector<Written> written;
  const auto flags = [](const MadeMember& m) { return m.sizes_follow ? 8 : 0; };
  for (const MadeMember& m : members) {
    const std::string data = m.deflated ? deflate_raw(m.content) : m.content;
    const std::uint64_t crc = ::crc32(0, raw(m.content), static_cast<unsigned>(m.content.size()));
    const bool late = m.sizes_follow;
    zip.local.push_back(out.size());
    out.u32(0x04034b50).u16(20).u16(flags(m)).u16(m.deflated ? 8 : 0).u32(0);
    out.u32(late ? 0 : crc).u32(late ? 0 : data.size()).u32(late ? 0 : m.content.size());
    out.u16(m.name.size()).u16(0).add(m.name).add(data);
    if (late) out.u32(0x08074b50).u32(crc).u32(data.size()).u32(m.content.size());
    written.push_back({crc, data.size()});
  }
  zip.directory = out.size();
  for (std::size_t i = 0; i < members.size(); ++i) {
    const MadeMember& m = members[i];
    constexpr std::uint64_t kWide = 0xffffffff;
    zip.central.push_back(out.size());
    out.u32(0x02014b50).u16(20).u16(20).u16(flags(m)).u16(m.deflated ? 8 : 0).u32(0).u32(written[i].crc);
    out.u32(wide ? kWide : written[i].compressed).u32(wide ? kWide : m.content.size());
    out.u16(m.name.size()).u16(wide ? 28 : 0).u16(0).u16(0).zeros(6).u32(wide ? kWide : zip.local[i]).add(m.name);
    if (wide) out.u16(1).u16(24).u64(m.content.size()).u64(written[i].compressed).u64(zip.local[i]);
  }
  const std::size_t directory_size = out.size() - zip.directory;
  if (wide) {
    const std::size_t end64 = out.size();
    out.u32(0x06064b50).u64(44).u16(45).u16(45).u32(0).u32(0).u64(members.size()).u64(members.size());
    out.u64(directory_size).u64(zip.directory);
    out.u32(0x07064b50).u32(0).u64(end64).u32(1);
  }
  zip.end = out.size();
  out.u32(0x06054b50).u16(0).u16(0).u16(wide ? 0xffff : members.size()).u16(wide ? 0xffff : members.size());
  out.u32(wide ? 0xffffffff : directory_size).u32(wide ? 0xffffffff : zip.directory).u16(0);
  zip.bytes = out.bytes();
  return zip;
}

}  // namespace flashfit::doctor::test
