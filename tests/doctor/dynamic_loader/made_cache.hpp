#pragma once
// ld.so.cache files as ldconfig writes them.
#include <string>
#include <vector>

#include "doctor/made/bytes.hpp"

namespace flashfit::doctor::dynamic_loader::test {

struct MadeCacheEntry {
  std::string name, path;
  std::uint32_t flags = 0x0303;
  int hwcaps = -1;              ///< index of MadeCache::hwcaps; -1: for every processor
  std::uint64_t processor = 0;  ///< of the old kind
};

struct MadeCache {
  std::vector<MadeCacheEntry> entries;
  std::vector<std::string> hwcaps = {};
  bool behind_old = false;  ///< the old format with one entry comes before it

  std::vector<std::byte> bytes() const {
    using doctor::test::MadeBytes;
    const std::size_t texts_at = 48 + 24 * entries.size();
    MadeBytes texts;
    const auto add = [&](const std::string& text) {
      const std::size_t at = texts_at + texts.size();
      texts.add(text).u8(0);
      return at;
    };
    MadeBytes records;
    for (const MadeCacheEntry& entry : entries) {
      const std::size_t name = add(entry.name), path = add(entry.path);
      records.u32(entry.flags).u32(name).u32(path).u32(0);
      if (entry.hwcaps < 0) {
        records.u64(entry.processor);
      } else {
        records.u32(static_cast<std::size_t>(entry.hwcaps)).u32(1U << 30);
      }
    }
    std::vector<std::size_t> names;
    for (const std::string& name : hwcaps) names.push_back(add(name));
    texts.align(8);
    const std::size_t extension = texts_at + texts.size();

    MadeBytes out;
    if (behind_old) out.add("ld.so-1.7.0").u8(0).u32(1).u32(3).u32(0).u32(0).u32(0);
    out.add("glibc-ld.so.cache1.1").u32(entries.size()).u32(texts.size()).u8(2).u8(0).u16(0);
    out.u32(hwcaps.empty() ? 0 : extension).u32(0).u32(0).u32(0);
    out.add(records.bytes()).add(texts.bytes());
    if (hwcaps.empty()) return out.bytes();
    out.u32(0xeaa42174).u32(1).u32(1).u32(0).u32(extension + 24).u32(4 * names.size());
    for (const std::size_t at : names) out.u32(at);
    return out.bytes();
  }
};

}  // namespace flashfit::doctor::dynamic_loader::test
