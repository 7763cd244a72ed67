#pragma once
// Compiled images by content: a file a key. Workers write into it,
// the packer reads from it, so it is also how they talk.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "runtime/images/build/resources.hpp"

namespace flashfit {

struct CachedImage {
  std::string entry;
  Resources resources;
  std::vector<std::byte> bytes;
};

class ImageCache {
 public:
  explicit ImageCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Nothing if it is absent or damaged (then it is made again).
  std::optional<CachedImage> get(const std::string& key) const;
  /// Written aside and renamed, so that another process sees it whole or not at all.
  Result<void> put(const std::string& key, const CachedImage& image) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace flashfit
