#include "doctor/container/archive_index.hpp"

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "doctor/bytes/decompress.hpp"
#include "doctor/bytes/tar.hpp"

namespace flashfit::doctor::container {
namespace {

/// "a/../b/./c" -> "b/c"; "" if it leads out of the archive.
std::string plain(std::string_view name) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (parts.empty()) {
      return "";
    } else {
      parts.pop_back();
    }
  }
  std::string out;
  for (const std::string_view part : parts) {
    if (!out.empty()) out += '/';
    out += part;
  }
  return out;
}

}  // namespace

Result<ArchiveIndex> ArchiveIndex::read(const doctor::Source& archive) {
  ArchiveIndex index(archive);
  class Visitor final : public doctor::TarVisitor {
   public:
    explicit Visitor(std::map<std::string, Place>& places) : places_(places) {}
    Result<bool> begin(const doctor::TarMember& member) override {
      using Kind = doctor::TarMember::Kind;
      if (member.kind != Kind::kFile && member.kind != Kind::kLink && member.kind != Kind::kHardLink) return false;
      const std::string name = plain(member.name);
      if (places_.size() == kMostMembers)
        return doctor::beyond("members of an image archive", kMostMembers, member.offset);
      Place place{.offset = member.offset, .size = member.size};
      // A symbolic link's target starts at the link's folder, a hard link's at the archive's root.
      if (member.kind == Kind::kLink) place.link = plain(name.substr(0, name.find_last_of('/') + 1) + member.target);
      if (member.kind == Kind::kHardLink) place.link = plain(member.target);
      if (!name.empty()) places_.insert_or_assign(name, std::move(place));
      return false;
    }
    Result<void> content(doctor::Bytes) override { return {}; }
    Result<void> end() override { return {}; }

   private:
    std::map<std::string, Place>& places_;
  };
  Visitor visitor(index.places_);
  doctor::TarReader tar(visitor);
  const auto size = read_decompressed(archive, doctor::Compression::kNone, archive.size(),
                                      [&](std::uint64_t at, doctor::Bytes chunk) { return tar.feed(at, chunk); });
  if (!size) return tl::unexpected(size.error());
  if (auto whole = tar.finish(archive.size()); !whole) return tl::unexpected(whole.error());
  return index;
}

std::optional<ArchiveIndex::Place> ArchiveIndex::find(const std::string& name) const {
  constexpr int kMostLinks = 8;
  std::string at = plain(name);
  for (int links = 0; links < kMostLinks; ++links) {
    const auto found = places_.find(at);
    if (found == places_.end()) return std::nullopt;
    if (found->second.link.empty()) {
      if (!doctor::within(found->second.offset, found->second.size, archive_.size())) return std::nullopt;
      return found->second;
    }
    at = found->second.link;
  }
  return std::nullopt;
}

Result<std::string> ArchiveIndex::text(const std::string& name, std::uint64_t limit) const {
  const auto place = find(name);
  if (!place) return fail(Code::kInvalidArgument, "not in the archive: " + printable(name));
  const auto bytes = doctor::read_part(archive_, place->offset, place->size, limit, printable(name));
  if (!bytes) return tl::unexpected(bytes.error());
  return std::string(doctor::as_text(*bytes));
}

}  // namespace flashfit::doctor::container
