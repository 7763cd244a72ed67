#pragma once
// Facts of files that were read before. docs/doctor.md, "The cache", says what an entry is keyed by.
#include <optional>
#include <string>

#include "doctor/facts/facts.hpp"

namespace flashfit::doctor {

class FactsCache {
 public:
  /// A cache in `folder`, which is made with the first entry; "" is a cache that holds nothing.
  explicit FactsCache(std::string folder) : folder_(std::move(folder)) {}
  /// The folder of this user: $XDG_CACHE_HOME or ~/.cache, then flashfit/doctor; "" where there is no home.
  static std::string default_folder();

  /// The facts of the file as it is now; nothing if it is not known or anything is in doubt. `target` and `file_name`
  /// are those of the path given.
  std::optional<Target> find(const std::string& path) const;
  /// Keeps them; not for files that changed a moment ago, whose times cannot tell a further change. Failures are
  /// silent: a cache is no duty.
  void keep(const std::string& path, const Target& target) const;

  /// What a caller wrote of many files at once, under a name of its own that says all that must be equal. The caller
  /// answers for the files being unchanged.
  std::optional<std::string> find_text(const std::string& name) const;
  void keep_text(const std::string& name, const std::string& text) const;

 private:
  struct Key {
    std::string identity;  ///< everything that must be equal
    std::string name;      ///< of the entry's file
    bool settled = false;  ///< old enough to be kept
  };
  static std::optional<Key> key_of(const std::string& path);
  /// An entry without its own hash: the identity and what follows it.
  std::optional<std::string> find_entry(const std::string& name) const;
  void keep_entry(const std::string& name, const std::string& body) const;
  void bound() const;

  std::string folder_;
};

}  // namespace flashfit::doctor
