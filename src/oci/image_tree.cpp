#include "oci/image_tree.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "inspect/printable.hpp"

namespace flashfit::oci {
namespace {

using inspect::printable;
using loader::FileKind;

FileKind kind_of(Kind kind) {
  switch (kind) {
    case Kind::kFile:
      return FileKind::kFile;
    case Kind::kFolder:
      return FileKind::kFolder;
    case Kind::kLink:
      return FileKind::kLink;
    default:
      return FileKind::kOther;
  }
}

}  // namespace

Result<std::unique_ptr<ImageTree>> ImageTree::make(std::vector<LayerSource> layers) {
  std::unique_ptr<ImageTree> tree(new ImageTree);
  auto kept = inspect::UnnamedFile::make();
  if (!kept) return tl::unexpected(kept.error());
  tree->kept_ = std::move(*kept);
  tree->layers_ = std::move(layers);
  std::size_t members = 0;
  for (std::uint32_t i = 0; i < tree->layers_.size() && tree->error_.empty(); ++i)
    if (auto added = add_layer(i, tree->layers_[i], tree->overlay_, *tree->kept_, members); !added)
      tree->error_ =
          fmt::format("layer {} of {}: {}", tree->layers_.size() - i, tree->layers_.size(), added.error().message);
  return tree;
}

loader::Node ImageTree::look(const std::string& path) const {
  const std::uint32_t number = overlay_.find(path);
  if (number == Overlay::kNone) return {.why = "no such file"};
  const OverlayNode& node = overlay_.node(number);
  loader::Node out{.kind = kind_of(node.kind)};
  // Hard links are one file: the same content of the same layer.
  out.id =
      node.kind == Kind::kFile ? loader::FileId{node.layer + std::uint64_t{1}, node.offset} : loader::FileId{0, number};
  if (node.kind == Kind::kFile) out.size = node.size;
  if (node.kind == Kind::kLink) out.target = overlay_.target(node);
  return out;
}

Result<std::vector<loader::Entry>> ImageTree::list_here(const std::string& path) const {
  const std::uint32_t number = overlay_.find(path);
  if (number == Overlay::kNone) return fail(Code::kInvalidArgument, printable(path, 300) + ": no such file");
  if (overlay_.node(number).kind != Kind::kFolder)
    return fail(Code::kInvalidArgument, printable(path, 300) + ": not a folder");
  std::vector<loader::Entry> entries;
  for (std::uint32_t at = overlay_.node(number).first_child; at != 0; at = overlay_.node(at).next_sibling) {
    const OverlayNode& node = overlay_.node(at);
    if (node.whiteout) continue;
    if (entries.size() == kMostEntries)
      return fail(Code::kInvalidArgument, fmt::format("{}: more than {} entries", printable(path, 300), kMostEntries));
    entries.push_back({std::string(overlay_.name(node)), kind_of(node.kind)});
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return entries;
}

Result<std::unique_ptr<const inspect::Source>> ImageTree::open_here(const std::string& path) const {
  const std::uint32_t number = overlay_.find(path);
  if (number == Overlay::kNone) return fail(Code::kInvalidArgument, printable(path, 300) + ": no such file");
  const OverlayNode& node = overlay_.node(number);
  if (node.kind != Kind::kFile) return fail(Code::kInvalidArgument, printable(path, 300) + ": not a regular file");
  const LayerSource& layer = layers_[node.layer];
  if (layer.compression == inspect::Compression::kNone) {
    if (!inspect::within(node.offset, node.size, layer.bytes->size()))
      return fail(Code::kInvalidArgument, printable(path, 300) + ": cut short");
    return std::make_unique<const inspect::PartSource>(*layer.bytes, node.offset, node.size);
  }
  if (node.kept == ~std::uint64_t{0}) return read_again(layer, node);
  return std::make_unique<const inspect::PartSource>(*kept_, node.kept, node.size);
}

}  // namespace flashfit::oci
