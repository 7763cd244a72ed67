#pragma once
// The members of an image's outer tar archive by name: manifests and layers.
#include <map>
#include <string>

#include "doctor/bytes/source.hpp"

namespace flashfit::doctor::container {

class ArchiveIndex {
 public:
  static constexpr std::size_t kMostMembers = 100'000;
  struct Place {
    std::uint64_t offset = 0, size = 0;
    std::string link;  ///< of a link: another member's name
  };

  /// `archive` must outlive it. Errors: those of TarReader; more than kMostMembers.
  static Result<ArchiveIndex> read(const doctor::Source& archive);

  /// A file's bytes in the archive, links followed within it; nothing if there is none of that name.
  std::optional<Place> find(const std::string& name) const;
  /// A small file as a whole. Errors: not there; larger than `limit`.
  Result<std::string> text(const std::string& name, std::uint64_t limit) const;

 private:
  explicit ArchiveIndex(const doctor::Source& archive) : archive_(archive) {}
  const doctor::Source& archive_;
  std::map<std::string, Place> places_;
};

}  // namespace flashfit::doctor::container
