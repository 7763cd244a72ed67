#include "doctor/container/image_tree.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/printable.hpp"

namespace flashfit::doctor::container {
namespace {

using dynamic_loader::FileKind;

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

Result<std::unique_ptr<ImageTree>> ImageTree::make(std::vector<LayerSource> layers,
                                                   std::shared_ptr<ContentBudget> budget) {
  std::unique_ptr<ImageTree> tree(new ImageTree);
  auto kept = doctor::UnnamedFile::make();
  if (!kept) return tl::unexpected(kept.error());
  tree->kept_ = std::move(*kept);
  tree->layers_ = std::move(layers);
  tree->budget_ = std::move(budget);
  std::size_t members = 0;
  for (std::uint32_t i = 0; i < tree->layers_.size() && tree->error_.empty(); ++i)
    if (auto added = add_layer(i, tree->layers_[i], tree->overlay_, *tree->kept_, members, *tree->budget_); !added)
      tree->error_ =
          fmt::format("layer {} of {}: {}", tree->layers_.size() - i, tree->layers_.size(), added.error().message);
  return tree;
}

dynamic_loader::Node ImageTree::look(const std::string& path) const {
  const std::uint32_t number = overlay_.find(path);
  if (number == Overlay::kNone) return {.why = "no such file"};
  const OverlayNode& node = overlay_.node(number);
  dynamic_loader::Node out{.kind = kind_of(node.kind)};
  // Hard links are one file: the same content of the same layer.
  out.id = node.kind == Kind::kFile ? dynamic_loader::FileId{node.layer + std::uint64_t{1}, node.offset}
                                    : dynamic_loader::FileId{0, number};
  if (node.kind == Kind::kFile) out.size = node.size;
  if (node.kind == Kind::kLink) out.target = overlay_.target(node);
  return out;
}

Result<std::vector<dynamic_loader::Entry>> ImageTree::list_here(const std::string& path) const {
  const std::uint32_t number = overlay_.find(path);
  if (number == Overlay::kNone) return fail(Code::kInvalidArgument, printable(path, 300) + ": no such file");
  if (overlay_.node(number).kind != Kind::kFolder)
    return fail(Code::kInvalidArgument, printable(path, 300) + ": not a folder");
  std::vector<dynamic_loader::Entry> entries;
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

Result<std::unique_ptr<const doctor::Source>> ImageTree::open_here(const std::string& path) const {
  const std::uint32_t number = overlay_.find(path);
  if (number == Overlay::kNone) return fail(Code::kInvalidArgument, printable(path, 300) + ": no such file");
  const OverlayNode& node = overlay_.node(number);
  if (node.kind != Kind::kFile) return fail(Code::kInvalidArgument, printable(path, 300) + ": not a regular file");
  const LayerSource& layer = layers_[node.layer];
  if (layer.compression == doctor::Compression::kNone) {
    if (!doctor::within(node.offset, node.size, layer.bytes->size()))
      return fail(Code::kInvalidArgument, printable(path, 300) + ": cut short");
    return std::make_unique<const doctor::PartSource>(*layer.bytes, node.offset, node.size);
  }
  if (node.kept == ~std::uint64_t{0}) {
    const std::scoped_lock counts(reading_again_);
    return read_again(layer, node, *budget_);
  }
  return std::make_unique<const doctor::PartSource>(*kept_, node.kept, node.size);
}

}  // namespace flashfit::doctor::container
