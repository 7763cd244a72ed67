#include "doctor/dynamic_loader/ld_so_cache.hpp"

#include <algorithm>

namespace flashfit::doctor::dynamic_loader {
namespace {

// Formats: sysdeps/generic/dl-cache.h of glibc. A desktop's file has 5,000 entries and 250 KB.
constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20, kMostEntries = 1 << 18;
constexpr std::uint64_t kMostText = std::uint64_t{64} << 20;
constexpr std::string_view kOldMagic = "ld.so-1.7.0", kMagic = "glibc-ld.so.cache1.1";
constexpr std::uint64_t kOldHeader = 16, kOldEntry = 12, kHeader = 48, kEntry = 24;
constexpr std::uint32_t kExtensionMagic = 0xeaa42174, kHwcapsSection = 1;
/// Of an entry's processor field: its lower half is an index of the subfolders' names.
constexpr std::uint64_t kHasHwcaps = std::uint64_t{1} << 62;
constexpr std::uint64_t kIndexMask = 0xffffffff;

bool starts_with(Bytes bytes, std::uint64_t at, std::string_view text) {
  const auto found = doctor::part(bytes, at, text.size());
  return found && doctor::as_text(*found) == text;
}

/// Where the newer format begins: behind the older one's entries, at the next multiple of 8.
Result<std::uint64_t> begin_of(Bytes bytes) {
  if (starts_with(bytes, 0, kMagic)) return 0;
  if (!starts_with(bytes, 0, kOldMagic)) return malformed("ld.so.cache: neither of its formats", 0);
  const std::uint64_t entries = Reader(bytes, 12).u32();
  const std::uint64_t begin = (kOldHeader + entries * kOldEntry + 7) / 8 * 8;
  if (!starts_with(bytes, begin, kMagic)) return malformed("ld.so.cache of the old format alone", begin);
  return begin;
}

/// Names of glibc-hwcaps subfolders. What is not whole has none, as with the loader.
std::vector<std::string> read_hwcaps(Bytes bytes, std::uint64_t begin, std::uint32_t extension) {
  if (extension == 0) return {};
  Reader reader(bytes, begin + extension);
  if (reader.u32() != kExtensionMagic) return {};
  const std::uint32_t sections = reader.u32();
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < sections && reader.ok(); ++i) {
    const std::uint32_t tag = reader.u32();
    reader.skip(4);  // flags
    const std::uint32_t offset = reader.u32(), size = reader.u32();
    if (tag != kHwcapsSection || !reader.ok()) continue;
    constexpr std::uint32_t kMostNames = 1024;
    Reader offsets(bytes, begin + offset);
    for (std::uint32_t n = 0; n < std::min(size / 4, kMostNames); ++n)
      names.emplace_back(doctor::text_at(bytes, begin + offsets.u32()).value_or("").substr(0, 64));
    return names;
  }
  return names;
}

}  // namespace

std::uint32_t LdSoCache::flags_of(std::string_view machine) {
  if (machine == "x86_64") return 0x0303;
  return machine == "aarch64" ? 0x0a03 : 0;
}

Result<LdSoCache> LdSoCache::read(const doctor::Source& source) {
  const auto whole = doctor::read_part(source, 0, source.size(), kMostBytes, "ld.so.cache");
  if (!whole) return tl::unexpected(whole.error());
  const Bytes bytes = *whole;
  const auto begin = begin_of(bytes);
  if (!begin) return tl::unexpected(begin.error());
  Reader header(bytes, *begin + kMagic.size());
  const std::uint32_t count = header.u32();
  header.skip(4);  // bytes of names
  const std::uint8_t order = header.u8();
  header.skip(3);
  const std::uint32_t extension = header.u32();
  header.skip(12);
  // 0: from before the field; 2: little endian.
  if (!header.ok() || (order & 3) == 1 || (order & 3) == 3) return malformed("ld.so.cache's header", *begin);
  if (count > kMostEntries) return doctor::beyond("number of the ld.so.cache's entries", kMostEntries, *begin);
  const auto hwcaps = read_hwcaps(bytes, *begin, extension);

  LdSoCache cache;
  std::uint64_t text = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = *begin + kHeader + i * kEntry;
    Reader reader(bytes, at);
    Entry entry{.flags = reader.u32()};
    const std::uint32_t name_at = reader.u32(), path_at = reader.u32();
    reader.skip(4);  // oldest kernel, which no glibc since 2.36 asks
    const std::uint64_t processor = reader.u64();
    const auto name = doctor::text_at(bytes, *begin + name_at), path = doctor::text_at(bytes, *begin + path_at);
    if (!reader.ok() || !name || !path) return malformed("entry of the ld.so.cache", at);
    text += name->size() + path->size();
    if (text > kMostText) return doctor::beyond("length of the ld.so.cache's names", kMostText, at);
    entry.path = *path;
    if ((processor >> 32) == (kHasHwcaps >> 32)) {
      const std::uint64_t index = processor & kIndexMask;
      entry.hwcaps = index < hwcaps.size() ? hwcaps[static_cast<std::size_t>(index)] : "unknown";
    } else {
      entry.legacy = processor != 0;
    }
    cache.entries_[std::string(*name)].push_back(std::move(entry));
    ++cache.count_;
  }
  return cache;
}

const std::vector<LdSoCache::Entry>& LdSoCache::all(const std::string& name) const {
  static const std::vector<Entry> kNone;
  const auto found = entries_.find(name);
  return found == entries_.end() ? kNone : found->second;
}

const LdSoCache::Entry* LdSoCache::find(const std::string& name, std::uint32_t flags,
                                        const std::vector<std::string>& hwcaps) const {
  const Entry* best = nullptr;
  std::size_t best_rank = hwcaps.size();
  // Those of subfolders come first; the first for every processor ends the search.
  for (const Entry& entry : all(name)) {
    if (entry.flags != flags || entry.legacy) continue;
    if (entry.hwcaps.empty()) {
      if (best == nullptr) best = &entry;
      break;
    }
    const auto rank = static_cast<std::size_t>(std::find(hwcaps.begin(), hwcaps.end(), entry.hwcaps) - hwcaps.begin());
    if (rank >= best_rank) continue;
    best = &entry;
    best_rank = rank;
  }
  return best;
}

}  // namespace flashfit::doctor::dynamic_loader
