#include "doctor/container/layer.hpp"

#include <algorithm>
#include <map>

#include "doctor/facts/read_binary.hpp"

namespace flashfit::doctor::container {
namespace {

class LayerVisitor final : public doctor::TarVisitor {
 public:
  LayerVisitor(std::uint32_t layer, bool keeps, Overlay& overlay, doctor::UnnamedFile& kept, std::size_t& members)
      : layer_(layer), keeps_(keeps), overlay_(overlay), kept_(kept), members_(members) {}

  Result<bool> begin(const TarMember& member) override {
    if (++members_ > kMostMembers) return doctor::beyond("members of an image", kMostMembers, member.offset);
    const auto number = overlay_.add(layer_, member);
    if (!number) return tl::unexpected(number.error());
    number_ = *number;
    if (number_ == Overlay::kNone) {
      hide(member);
      return false;
    }
    if (member.kind == TarMember::Kind::kHardLink) follow(member);
    head_.clear();
    begins_at_ = kept_.size();
    passes_ = member.size <= kSmall || (member.size <= kLargestText && is_installers(member.name));
    refused_ = false;
    return keeps_ && member.kind == TarMember::Kind::kFile;
  }

  Result<void> content(Bytes piece) override {
    if (refused_) return {};
    if (passes_) return kept_.append(piece);
    head_.insert(head_.end(), piece.begin(), piece.end());
    if (head_.size() < doctor::kHeadSize) return {};
    passes_ = doctor::may_be_binary(Bytes(head_).first(doctor::kHeadSize));
    refused_ = !passes_;
    return passes_ ? kept_.append(std::exchange(head_, {})) : Result<void>{};
  }

  Result<void> end() override {
    if (!refused_) overlay_.node(number_).kept = begins_at_;
    return {};
  }

 private:
  /// What a newer layer hides may be what a link that it does not hide leads to.
  void hide(const TarMember& member) {
    const auto parts = parts_of(member.name);
    if (member.kind == TarMember::Kind::kFile && parts && hidden_.size() < kMostHidden)
      hidden_.insert_or_assign(path_of(*parts), member);
  }
  /// METADATA and RECORD, which are asked for by name: to come to one later all before it is decompressed again.
  static bool is_installers(std::string_view name) {
    const std::string_view folder = name.substr(0, std::min(name.rfind('/'), name.size()));
    return folder.ends_with(".dist-info") || folder.ends_with(".egg-info");
  }
  static std::string path_of(const std::vector<std::string_view>& parts) {
    std::string path;
    for (const std::string_view part : parts) (path += '/') += part;
    return path;
  }
  /// A hard link is its file, wherever that stands by now: the same content, and the same number to the tree.
  void follow(const TarMember& member) {
    OverlayNode& link = overlay_.node(number_);
    link.kind = TarMember::Kind::kOther;
    const auto parts = parts_of(member.target);
    if (!parts) return;
    const std::string path = path_of(*parts);
    const std::uint32_t number = overlay_.find(path);
    if (number != Overlay::kNone && number != number_ && overlay_.node(number).layer == layer_) {
      const OverlayNode& file = overlay_.node(number);
      if (file.kind != TarMember::Kind::kFile) return;
      link.kind = file.kind;
      link.size = file.size;
      link.offset = file.offset;
      link.kept = file.kept;
    } else if (const auto hidden = hidden_.find(path); hidden != hidden_.end()) {
      link.kind = TarMember::Kind::kFile;
      link.size = hidden->second.size;
      link.offset = hidden->second.offset;
    }
  }

  std::uint32_t layer_;
  bool keeps_;
  Overlay& overlay_;
  doctor::UnnamedFile& kept_;
  std::size_t& members_;
  std::uint32_t number_ = 0;
  std::vector<std::byte> head_;
  std::uint64_t begins_at_ = 0;
  bool passes_ = false, refused_ = false;
  std::map<std::string, TarMember> hidden_;
};

/// The bytes of one member, of those that come.
class Part {
 public:
  Part(std::uint64_t begin, std::uint64_t size, doctor::UnnamedFile& into)
      : begin_(begin), end_(begin + size), into_(into) {}
  Result<std::uint64_t> take(std::uint64_t at, Bytes chunk) {
    const std::uint64_t from = std::max(at, begin_), to = std::min(at + chunk.size(), end_);
    if (from < to)
      if (auto put =
              into_.append(chunk.subspan(static_cast<std::size_t>(from - at), static_cast<std::size_t>(to - from)));
          !put)
        return tl::unexpected(put.error());
    return at + chunk.size() >= end_ ? doctor::TarReader::kEnd : begin_;
  }

 private:
  std::uint64_t begin_, end_;
  doctor::UnnamedFile& into_;
};

template <class Visit>
Result<std::uint64_t> read_counted(const LayerSource& source, ContentBudget& budget, Visit visit) {
  return read_decompressed(*source.bytes, source.compression, kMostContent,
                           [&](std::uint64_t at, Bytes chunk) -> Result<std::uint64_t> {
                             budget.spent += chunk.size();
                             if (budget.spent > budget.limit.most) return doctor::beyond(budget.limit, at);
                             return visit(at, chunk);
                           });
}

}  // namespace

Result<void> add_layer(std::uint32_t layer, const LayerSource& source, Overlay& overlay, doctor::UnnamedFile& kept,
                       std::size_t& members, ContentBudget& budget) {
  const bool compressed = source.compression != doctor::Compression::kNone;
  LayerVisitor visitor(layer, compressed, overlay, kept, members);
  doctor::TarReader tar(visitor);
  const auto size = read_counted(source, budget, [&](std::uint64_t at, Bytes chunk) -> Result<std::uint64_t> {
    auto next = tar.feed(at, chunk);
    // What is behind the last member of a compressed layer is read for its checksum.
    if (next && compressed && *next == doctor::TarReader::kEnd) return at + chunk.size();
    return next;
  });
  if (!size) return tl::unexpected(size.error());
  return tar.finish(*size);
}

Result<std::unique_ptr<const doctor::Source>> read_again(const LayerSource& source, const OverlayNode& file,
                                                         ContentBudget& budget) {
  auto into = doctor::UnnamedFile::make();
  if (!into) return tl::unexpected(into.error());
  Part part(file.offset, file.size, **into);
  const auto read = read_counted(source, budget, [&](std::uint64_t at, Bytes chunk) { return part.take(at, chunk); });
  if (!read) return tl::unexpected(read.error());
  if ((*into)->size() != file.size) return doctor::malformed("layer cut short", *read);
  return std::unique_ptr<const doctor::Source>(std::move(*into));
}

}  // namespace flashfit::doctor::container
