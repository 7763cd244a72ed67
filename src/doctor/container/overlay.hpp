#pragma once
// The names of an image's layers, one over the other (OCI image specification, "Image Layer Filesystem Changeset").
// Layers are added the newest first, so that what an older one adds is known to be hidden at once.
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/base/error.hpp"
#include "doctor/bytes/tar.hpp"

namespace flashfit::doctor::container {

using Kind = doctor::TarMember::Kind;

/// What lies at a path, or an older layer's whiteout.
struct OverlayNode {
  std::uint32_t parent = 0, first_child = 0, next_sibling = 0;  ///< 0: none; the root has no number but 0
  std::uint32_t name_at = 0;
  std::uint32_t target_at = 0;  ///< of links
  std::uint16_t name_size = 0, target_size = 0;
  std::uint32_t layer = 0;    ///< that it is of: 0 is the newest
  std::uint32_t hides = ~0U;  ///< what layers beyond this number hold beneath it is hidden
  Kind kind = Kind::kFolder;
  bool whiteout = false;                   ///< nothing lies there
  std::uint64_t size = 0;                  ///< of a file's content
  std::uint64_t offset = 0;                ///< of the content in its layer
  std::uint64_t kept = ~std::uint64_t{0};  ///< where the content was kept; all ones: it was not
};

class Overlay {
 public:
  static constexpr std::size_t kMostNodes = 1'500'000;
  static constexpr std::size_t kMostText = std::size_t{192} << 20;  ///< bytes of all names
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  Overlay();
  Overlay(const Overlay&) = delete;  // its index knows where it is
  Overlay& operator=(const Overlay&) = delete;

  /// Adds a member of a layer that is no newer than those before: the number of its node, or kNone where a newer layer
  /// hides it, where it is a whiteout, or where its name leads out of the root or through what is no folder. Error:
  /// more than kMostNodes or kMostText, or limits::kNameParts.
  Result<std::uint32_t> add(std::uint32_t layer, const doctor::TarMember& member);

  /// The node at a path of plain parts, "/usr/lib"; kNone if there is none. No link is followed.
  std::uint32_t find(std::string_view path) const;
  const OverlayNode& node(std::uint32_t number) const { return nodes_[number]; }
  OverlayNode& node(std::uint32_t number) { return nodes_[number]; }
  std::string_view name(const OverlayNode& node) const {
    return std::string_view(text_).substr(node.name_at, node.name_size);
  }
  std::string_view target(const OverlayNode& node) const {
    return std::string_view(text_).substr(node.target_at, node.target_size);
  }

 private:
  struct Key {
    std::uint32_t parent;
    std::string_view name;
  };
  struct Hash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard's name
    const Overlay* overlay;
    std::size_t operator()(const Key& key) const;
    std::size_t operator()(std::uint32_t number) const { return (*this)(overlay->key_of(number)); }
  };
  struct Equal {
    using is_transparent = void;  // NOLINT(readability-identifier-naming)
    const Overlay* overlay;
    bool operator()(std::uint32_t a, std::uint32_t b) const { return a == b; }
    bool operator()(const Key& a, std::uint32_t b) const { return same(a, overlay->key_of(b)); }
    bool operator()(std::uint32_t a, const Key& b) const { return same(overlay->key_of(a), b); }
    static bool same(const Key& a, const Key& b) { return a.parent == b.parent && a.name == b.name; }
  };
  Key key_of(std::uint32_t number) const { return {nodes_[number].parent, name(nodes_[number])}; }
  std::uint32_t child(std::uint32_t parent, std::string_view name) const;
  Result<std::uint32_t> make(std::uint32_t parent, std::string_view name, std::uint32_t layer);
  Result<std::uint32_t> keep_text(std::string_view text);
  /// The folder that holds the last part of a member's name; kNone if it is hidden there.
  Result<std::uint32_t> folder_of(std::uint32_t layer, std::string_view name,
                                  const std::vector<std::string_view>& parts);
  Result<std::uint32_t> enter(std::uint32_t layer, const std::vector<std::string_view>& parts);

  std::string entered_;  ///< the folder that enter() came to last, and what it found: members of one follow each other
  std::uint32_t entered_layer_ = kNone, entered_number_ = 0;
  std::uint64_t parts_ = 0;  ///< of all names that were followed
  std::vector<OverlayNode> nodes_;
  std::string text_;
  std::unordered_set<std::uint32_t, Hash, Equal> index_;
};

/// The parts of a member's name, "./a//b" as "a", "b"; nothing if it has "..", which no sound image has.
std::optional<std::vector<std::string_view>> parts_of(std::string_view name);

}  // namespace flashfit::doctor::container
