#include "doctor/container/overlay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/base/ascii.hpp"
#include "doctor/bytes/limits.hpp"

namespace flashfit::doctor::container {
namespace {

constexpr std::string_view kWhiteout = ".wh.", kOpaque = ".wh..wh..opq", kInternal = ".wh..wh.";

}  // namespace

std::optional<std::vector<std::string_view>> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  for (const std::string_view part : split(name, '/')) {
    if (part == "..") return std::nullopt;
    if (!part.empty() && part != ".") parts.push_back(part);
  }
  return parts;
}

Overlay::Overlay() : nodes_(1), index_(16, Hash{this}, Equal{this}) { nodes_[0].layer = kNone; }

std::size_t Overlay::Hash::operator()(const Key& key) const {
  return std::hash<std::string_view>()(key.name) ^ (std::size_t{key.parent} * 0x9e3779b97f4a7c15U);
}

std::uint32_t Overlay::child(std::uint32_t parent, std::string_view name) const {
  const auto found = index_.find(Key{parent, name});
  return found == index_.end() ? kNone : *found;
}

Result<std::uint32_t> Overlay::keep_text(std::string_view text) {
  if (text_.size() + text.size() > kMostText)
    return doctor::malformed(fmt::format("names beyond the limit of {} MB", kMostText >> 20), 0);
  const auto at = static_cast<std::uint32_t>(text_.size());
  text_ += text;
  return at;
}

Result<std::uint32_t> Overlay::make(std::uint32_t parent, std::string_view name, std::uint32_t layer) {
  if (nodes_.size() == kMostNodes) return doctor::malformed(fmt::format("more than {} files", kMostNodes), 0);
  auto at = keep_text(name);
  if (!at) return at;
  OverlayNode node{
      .parent = parent, .name_at = *at, .name_size = static_cast<std::uint16_t>(name.size()), .layer = layer};
  node.next_sibling = nodes_[parent].first_child;
  const auto number = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back(node);
  nodes_[parent].first_child = number;
  index_.insert(number);
  return number;
}

Result<std::uint32_t> Overlay::enter(std::uint32_t layer, const std::vector<std::string_view>& parts) {
  std::uint32_t at = 0;
  for (std::size_t i = 0;; ++i) {
    OverlayNode& here = nodes_[at];
    // A layer that takes a folder away and brings another of its name.
    if (here.whiteout && here.layer == layer) here.whiteout = false;
    if (here.whiteout || here.kind != Kind::kFolder || here.hides < layer) return kNone;
    if (i + 1 >= parts.size()) return at;
    std::uint32_t next = child(at, parts[i]);
    if (next == kNone) {
      auto made = make(at, parts[i], layer);
      if (!made) return made;
      next = *made;
    }
    at = next;
  }
}

Result<std::uint32_t> Overlay::folder_of(std::uint32_t layer, std::string_view name,
                                         const std::vector<std::string_view>& parts) {
  const std::string_view folder = name.substr(0, static_cast<std::size_t>(parts.back().data() - name.data()));
  if (layer == entered_layer_ && folder == entered_) return entered_number_;
  parts_ += parts.size();
  if (parts_ > doctor::limits::kNameParts.most) return doctor::beyond(doctor::limits::kNameParts, 0);
  const auto number = enter(layer, parts);
  if (!number) return number;
  entered_ = folder;
  entered_layer_ = layer;
  entered_number_ = *number;
  return number;
}

Result<std::uint32_t> Overlay::add(std::uint32_t layer, const doctor::TarMember& member) {
  const auto parts = parts_of(member.name);
  if (!parts || parts->empty()) return kNone;
  std::string_view name = parts->back();
  auto folder = folder_of(layer, member.name, *parts);
  if (!folder || *folder == kNone) return folder;
  if (name == kOpaque) {
    nodes_[*folder].hides = std::min(nodes_[*folder].hides, layer);
    return kNone;
  }
  if (name.starts_with(kInternal)) return kNone;
  const bool whiteout = name.starts_with(kWhiteout);
  if (whiteout) name.remove_prefix(kWhiteout.size());
  if (name.empty() || name == "." || name == "..") return kNone;

  std::uint32_t number = child(*folder, name);
  const bool fresh = number == kNone;
  if (fresh) {
    auto made = make(*folder, name, layer);
    if (!made) return made;
    number = *made;
  }
  OverlayNode& node = nodes_[number];
  if (whiteout) {
    // It hides older layers, not what its own layer has there.
    if (fresh) node.whiteout = true;
    node.hides = std::min(node.hides, layer);
    return kNone;
  }
  // A newer layer's file, whiteout or folder stays; folders of several layers are one.
  if (!fresh && (node.layer != layer || (node.hides < layer))) return kNone;
  node.whiteout = false;
  node.kind = member.kind;
  node.size = member.size;
  node.offset = member.offset;
  node.kept = ~std::uint64_t{0};
  node.target_size = 0;
  if (member.kind == Kind::kLink || member.kind == Kind::kHardLink) {
    const auto at = keep_text(member.target);
    if (!at) return at;
    node.target_at = *at;
    node.target_size = static_cast<std::uint16_t>(member.target.size());
  }
  return number;
}

std::uint32_t Overlay::find(std::string_view path) const {
  std::uint32_t at = 0;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty()) continue;
    if (nodes_[at].kind != Kind::kFolder || nodes_[at].whiteout) return kNone;
    at = child(at, part);
    if (at == kNone) return kNone;
  }
  return nodes_[at].whiteout ? kNone : at;
}

}  // namespace flashfit::doctor::container
