#include "doctor/facts/facts_cache.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "doctor/bytes/source.hpp"
#include "doctor/facts/facts_codec.hpp"

// All of it is in the header: no library to link.
#define XXH_INLINE_ALL  // NOLINT
#include <xxhash.h>

namespace flashfit::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestEntry = std::uint64_t{64} << 20, kMostBytes = std::uint64_t{512} << 20;
constexpr std::size_t kMostEntries = 4096;
constexpr std::uint64_t kHead = std::uint64_t{64} << 10, kTail = std::uint64_t{2} << 20;
constexpr long kSettled = 2;  // seconds
constexpr std::string_view kMagic = "flashfit facts 1\n";

std::string hash(std::string_view bytes) {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", h.high64, h.low64);
}

std::string str(const struct stat& s) {
  return fmt::format("{}:{}:{}:{}.{:09}:{}.{:09}", s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec,
                     s.st_ctim.tv_sec, s.st_ctim.tv_nsec);
}

/// Another build of the doctor may read other facts: the program itself is part of every key.
const std::string& revision() {
  static const std::string text = [] {
    struct stat self = {};
    return stat("/proc/self/exe", &self) == 0 ? str(self) : std::string();
  }();
  return text;
}

std::string hash_of_part(const FileSource& file, std::uint64_t at, std::uint64_t size) {
  const auto bytes = read_part(file, at, size, kTail, "part");
  return bytes ? hash(as_text(*bytes)) : std::string();
}

std::optional<std::string> read_entry_file(const std::string& path) {
  const auto file = FileSource::open(path);
  if (!file) return std::nullopt;
  const auto bytes = read_part(*file, 0, file->size(), kLargestEntry, "entry");
  if (!bytes) return std::nullopt;
  return std::string(as_text(*bytes));
}

}  // namespace

std::string FactsCache::default_folder() {
  const auto folder = [](const char* variable) {
    const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing here sets variables
    return std::string(value != nullptr && *value == '/' ? value : "");
  };
  if (const std::string cache = folder("XDG_CACHE_HOME"); !cache.empty()) return cache + "/flashfit/doctor";
  const std::string home = folder("HOME");
  return home.empty() ? "" : home + "/.cache/flashfit/doctor";
}

std::optional<FactsCache::Key> FactsCache::key_of(const std::string& path) {
  struct stat status = {};
  const auto file = FileSource::open(path);
  if (!file || stat(path.c_str(), &status) != 0 || revision().empty()) return std::nullopt;
  const std::uint64_t size = file->size(), tail = std::min(size, kTail);
  Key key;
  key.identity = fmt::format("{}|{}|{}|{}|{}", kMagic, revision(), str(status),
                             hash_of_part(*file, 0, std::min(size, kHead)), hash_of_part(*file, size - tail, tail));
  key.name = hash(key.identity);
  key.settled = std::time(nullptr) - std::max(status.st_mtim.tv_sec, status.st_ctim.tv_sec) > kSettled;
  return key;
}

std::optional<std::string> FactsCache::find_entry(const std::string& name) const {
  auto bytes = read_entry_file(folder_ + "/" + name);
  if (!bytes) return std::nullopt;
  // The entry begins with its own hash.
  constexpr std::size_t kHashSize = 32;
  const std::string_view all = *bytes;
  if (all.size() < kHashSize || hash(all.substr(kHashSize)) != all.substr(0, kHashSize)) return std::nullopt;
  bytes->erase(0, kHashSize);
  return bytes;
}

std::optional<Target> FactsCache::find(const std::string& path) const {
  if (folder_.empty()) return std::nullopt;
  const auto key = key_of(path);
  const auto body = key ? find_entry(key->name) : std::nullopt;
  if (!body) return std::nullopt;
  FactsReader reader(*body);
  std::string identity;
  Target target;
  reader(identity, target);
  if (!reader.ok() || !reader.ended() || identity != key->identity) return std::nullopt;
  target.target = path;
  target.file_name = fs::path(path).filename().string();
  return target;
}

void FactsCache::keep(const std::string& path, const Target& target) const {
  if (folder_.empty()) return;
  const auto key = key_of(path);
  if (!key || !key->settled) return;
  FactsWriter writer;
  writer(key->identity, target);
  keep_entry(key->name, writer.take());
}

std::optional<std::string> FactsCache::find_text(const std::string& name) const {
  if (folder_.empty() || revision().empty()) return std::nullopt;
  const std::string identity = fmt::format("{}|{}|{}", kMagic, revision(), name);
  const auto body = find_entry(hash(identity));
  if (!body || !body->starts_with(identity)) return std::nullopt;
  return body->substr(identity.size());
}

void FactsCache::keep_text(const std::string& name, const std::string& text) const {
  if (folder_.empty() || revision().empty()) return;
  const std::string identity = fmt::format("{}|{}|{}", kMagic, revision(), name);
  keep_entry(hash(identity), identity + text);
}

void FactsCache::keep_entry(const std::string& name, const std::string& body) const {
  if (body.size() > kLargestEntry) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return;
  fs::permissions(folder_, fs::perms::owner_all, error);
  // Under a name of its own first: others see an entry whole or not at all.
  const std::string entry = folder_ + "/" + name, own = fmt::format("{}.{}", entry, getpid());
  {
    std::ofstream file(own, std::ios::binary | std::ios::trunc);
    file << hash(body) << body;
    if (!file.flush()) {
      fs::remove(own, error);
      return;
    }
  }
  fs::rename(own, entry, error);
  if (error) fs::remove(own, error);
  bound();
}

/// Removes the oldest entries where there are too many.
void FactsCache::bound() const {
  struct Entry {
    fs::file_time_type time;
    std::uint64_t size;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    const auto size = fs::file_size(at->path(), gone);
    const auto time = gone ? fs::file_time_type() : fs::last_write_time(at->path(), gone);
    if (gone) continue;
    entries.push_back({time, size, at->path()});
    bytes += size;
  }
  if (entries.size() <= kMostEntries && bytes <= kMostBytes) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.time < b.time; });
  std::size_t left = entries.size();
  for (const Entry& e : entries) {
    // A quarter more than needed, so that not every entry pays for this.
    if (left <= kMostEntries * 3 / 4 && bytes <= kMostBytes * 3 / 4) return;
    fs::remove(e.path, error);
    bytes -= e.size;
    --left;
  }
}

}  // namespace flashfit::doctor
