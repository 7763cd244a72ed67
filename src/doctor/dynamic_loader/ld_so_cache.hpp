#pragma once
// /etc/ld.so.cache, which ldconfig writes: names and where they lie. The newer format ("glibc-ld.so.cache1.1"), alone
// or behind the older; formats of other byte orders are refused.
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "doctor/bytes/source.hpp"

namespace flashfit::doctor::dynamic_loader {

class LdSoCache {
 public:
  struct Entry {
    std::string path;
    std::uint32_t flags = 0;  ///< kind and machine: flags_of()
    std::string hwcaps;       ///< "x86-64-v3" of a library in glibc-hwcaps/x86-64-v3; "": for every processor
    bool legacy = false;      ///< in one of the folders for processors that glibc had up to 2.36: taken by no newer one
  };

  /// Errors: malformed; more than 16 MB, 262,144 entries, or 64 MB of names and paths.
  static Result<LdSoCache> read(const doctor::Source& source);

  /// The path that the loader takes for `name`; null: none. `hwcaps`: names of subfolders, the best first (hwcaps.hpp).
  const Entry* find(const std::string& name, std::uint32_t flags, const std::vector<std::string>& hwcaps) const;
  /// All entries of a name, in the file's order.
  const std::vector<Entry>& all(const std::string& name) const;
  std::size_t size() const { return count_; }

  /// What the C library of this machine looks for: "x86_64", "aarch64"; 0 for another.
  static std::uint32_t flags_of(std::string_view machine);

 private:
  std::unordered_map<std::string, std::vector<Entry>> entries_;
  std::size_t count_ = 0;
};

}  // namespace flashfit::doctor::dynamic_loader
