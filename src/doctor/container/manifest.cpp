#include "doctor/container/manifest.hpp"

#include <fmt/format.h>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/bytes/json.hpp"

namespace flashfit::doctor::container {
namespace {

using Json = nlohmann::json;

tl::unexpected<Error> wrong(const std::string& file, std::string_view why) {
  return fail(Code::kInvalidArgument, fmt::format("malformed: {}: {}", printable(file), why));
}

const Json& at(const Json& json, const char* key) {
  static const Json kNothing;
  if (!json.is_object()) return kNothing;
  const auto found = json.find(key);
  return found == json.end() ? kNothing : *found;
}
std::string text(const Json& json) { return json.is_string() ? json.get<std::string>() : ""; }

/// "sha256:0a..." -> "blobs/sha256/0a..."; "" if it is no digest.
std::string blob(const std::string& digest) {
  const std::size_t colon = digest.find(':');
  if (colon == std::string::npos || !is_word(digest.substr(0, colon)) || !is_word(digest.substr(colon + 1))) return "";
  return "blobs/" + digest.substr(0, colon) + "/" + digest.substr(colon + 1);
}

Result<Json> read_json(const ArchiveIndex& archive, const std::string& name) {
  const auto file = archive.text(name, kLargestManifest);
  if (!file) return tl::unexpected(file.error());
  auto json = doctor::parse_json(*file);
  if (!json) return wrong(name, json.error().message);
  return json;
}

std::string platform_of(const Json& json) {
  const std::string os = text(at(json, "os")), arch = text(at(json, "architecture"));
  return os.empty() || arch.empty() ? "" : os + "/" + arch;
}

/// What a configuration says; what it lacks is not missed.
void take_config(const Json& config, ImageParts& image) {
  if (image.platform.empty()) image.platform = platform_of(config);
  for (const Json& variable : at(at(config, "config"), "Env"))
    if (image.variables.size() < kMostVariables) image.variables.push_back(text(variable));
}

Result<std::vector<ImageParts>> read_docker(const ArchiveIndex& archive) {
  const auto list = read_json(archive, "manifest.json");
  if (!list) return tl::unexpected(list.error());
  if (!list->is_array()) return wrong("manifest.json", "no array");
  std::vector<ImageParts> images;
  for (const Json& entry : *list) {
    if (images.size() == kMostImages) return doctor::beyond("images of an archive", kMostImages, 0);
    ImageParts image;
    for (const Json& tag : at(entry, "RepoTags")) image.name = image.name.empty() ? text(tag) : image.name;
    if (image.name.empty()) image.name = text(at(entry, "Config"));
    if (const auto config = read_json(archive, text(at(entry, "Config")))) take_config(*config, image);
    for (const Json& layer : at(entry, "Layers")) {
      if (image.layers.size() == kMostLayers) return doctor::beyond("layers of an image", kMostLayers, 0);
      image.layers.push_back(text(layer));
    }
    images.push_back(std::move(image));
  }
  return images;
}

class Layout {
 public:
  explicit Layout(const ArchiveIndex& archive) : archive_(archive) {}

  Result<std::vector<ImageParts>> read() {
    const auto index = read_json(archive_, "index.json");
    if (!index) return tl::unexpected(index.error());
    if (auto read = read_index(*index, "", 0); !read) return tl::unexpected(read.error());
    return std::move(images_);
  }

 private:
  /// An index may name indexes: one for the platforms of an image.
  Result<void> read_index(const Json& index, const std::string& name_above, int depth) {
    constexpr int kDeepest = 4;
    for (const Json& entry : at(index, "manifests")) {
      const Json& annotations = at(entry, "annotations");
      // BuildKit's attestations stand among the images.
      if (!text(at(annotations, "vnd.docker.reference.type")).empty()) continue;
      const std::string digest = text(at(entry, "digest"));
      std::string name = name_above;
      for (const char* key : {"io.containerd.image.name", "org.opencontainers.image.ref.name"})
        if (name.empty()) name = text(at(annotations, key));
      if (name.empty()) name = digest;
      if (++entries_ > kMostImages * 4) return doctor::beyond("manifests of an archive", kMostImages * 4, 0);
      const auto manifest = read_json(archive_, blob(digest));
      if (!manifest) return tl::unexpected(manifest.error());
      if (at(*manifest, "manifests").is_array()) {
        if (depth == kDeepest) return wrong(digest, "an index in too many others");
        if (auto read = read_index(*manifest, name, depth + 1); !read) return read;
        continue;
      }
      if (auto taken = take(*manifest, digest, std::move(name), platform_of(at(entry, "platform"))); !taken)
        return taken;
    }
    return {};
  }

  Result<void> take(const Json& manifest, const std::string& digest, std::string name, std::string platform) {
    if (images_.size() == kMostImages) return doctor::beyond("images of an archive", kMostImages, 0);
    ImageParts image{.name = std::move(name), .platform = std::move(platform)};
    if (const auto config = read_json(archive_, blob(text(at(at(manifest, "config"), "digest")))))
      take_config(*config, image);
    if (!at(manifest, "layers").is_array()) return wrong(digest, "no layers");
    for (const Json& layer : at(manifest, "layers")) {
      if (image.layers.size() == kMostLayers) return doctor::beyond("layers of an image", kMostLayers, 0);
      image.layers.push_back(blob(text(at(layer, "digest"))));
    }
    images_.push_back(std::move(image));
    return {};
  }

  const ArchiveIndex& archive_;
  std::vector<ImageParts> images_;
  std::size_t entries_ = 0;
};

}  // namespace

Result<std::vector<ImageParts>> read_manifests(const ArchiveIndex& archive) {
  const char* const manifest = archive.find("manifest.json") ? "manifest.json" : "index.json";
  if (!archive.find(manifest))
    return fail(Code::kInvalidArgument, "no image: neither manifest.json nor index.json in the archive");
  auto images = std::string_view(manifest) == "manifest.json" ? read_docker(archive) : Layout(archive).read();
  if (images && images->empty())
    return fail(Code::kInvalidArgument, fmt::format("no image: the archive's {} names none", manifest));
  return images;
}

}  // namespace flashfit::doctor::container
