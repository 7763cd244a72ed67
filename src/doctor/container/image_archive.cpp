#include "doctor/container/image_archive.hpp"

#include <algorithm>
#include <ranges>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/container/manifest.hpp"

namespace flashfit::doctor::container {
namespace {

/// "manifest.json", "blobs/sha256/0a...", "0a...64 digits/layer.tar".
bool is_name_of_image(std::string_view name) {
  while (name.starts_with("./")) name.remove_prefix(2);
  const std::string_view first = name.substr(0, name.find('/'));
  for (const std::string_view known : {"manifest.json", "index.json", "oci-layout", "repositories", "blobs"})
    if (first == known) return true;
  const std::string_view digits = first.substr(0, first.find('.'));
  return digits.size() == 64 &&
         std::all_of(digits.begin(), digits.end(), [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

/// Ends at the first member that is more than the archive's own folder.
class FirstName final : public doctor::TarVisitor {
 public:
  Result<bool> begin(const doctor::TarMember& member) override {
    if (member.name == "./" || member.name == ".") return false;
    is_image = is_name_of_image(member.name);
    return fail(Code::kInvalidArgument, "seen");
  }
  Result<void> content(Bytes) override { return {}; }
  Result<void> end() override { return {}; }
  bool is_image = false;
};

Result<Compression> compression_at(const doctor::Source& source) {
  const auto head = doctor::read_part(source, 0, std::min<std::uint64_t>(4, source.size()), 4, "head");
  if (!head) return tl::unexpected(head.error());
  return doctor::compression_of(*head);
}

Result<std::unique_ptr<const doctor::Source>> decompressed(std::unique_ptr<const doctor::Source> file,
                                                           ContentBudget& budget) {
  const auto compression = compression_at(*file);
  if (!compression) return tl::unexpected(compression.error());
  if (*compression == Compression::kNone) return file;
  auto plain = doctor::UnnamedFile::make();
  if (!plain) return tl::unexpected(plain.error());
  const auto read =
      read_decompressed(*file, *compression, kMostContent, [&](std::uint64_t at, Bytes chunk) -> Result<std::uint64_t> {
        if (auto put = (*plain)->append(chunk); !put) return tl::unexpected(put.error());
        return at + chunk.size();
      });
  if (!read) return tl::unexpected(read.error());
  budget.spent += *read;
  return std::unique_ptr<const doctor::Source>(std::move(*plain));
}

Image open_image(ImageParts parts, const ArchiveIndex& archive, const doctor::Source& bytes,
                 const std::shared_ptr<ContentBudget>& budget) {
  Image image{
      .name = std::move(parts.name), .platform = std::move(parts.platform), .variables = std::move(parts.variables)};
  std::vector<LayerSource> layers;
  for (const std::string& name : std::views::reverse(parts.layers)) {
    const auto place = archive.find(name);
    if (!place) {
      image.error = "a layer is not in the archive: " + printable(name);
      return image;
    }
    LayerSource layer{.bytes = std::make_unique<doctor::PartSource>(bytes, place->offset, place->size)};
    const auto compression = compression_at(*layer.bytes);
    layer.compression = compression ? *compression : Compression::kNone;
    layers.push_back(std::move(layer));
  }
  auto tree = ImageTree::make(std::move(layers), budget);
  if (!tree) {
    image.error = tree.error().message;
  } else {
    image.tree = std::move(*tree);
    image.error = image.tree->error();
  }
  return image;
}

}  // namespace

bool is_image_archive(const std::string& path) {
  const auto file = FileSource::open(path);
  if (!file) return false;
  const auto compression = compression_at(*file);
  if (!compression) return false;
  FirstName first;
  doctor::TarReader tar(first);
  (void)read_decompressed(*file, *compression, kMostContent,
                          [&](std::uint64_t at, Bytes chunk) { return tar.feed(at, chunk); });
  return first.is_image;
}

Result<ImageArchive> open_image_archive(const std::string& path) {
  auto file = FileSource::open(path);
  if (!file) {
    // The message names the path, which the target's line already does.
    const std::string& why = file.error().message;
    return fail(Code::kInvalidArgument,
                "cannot be opened: " + (why.starts_with(path + ": ") ? why.substr(path.size() + 2) : why));
  }
  const auto budget = std::make_shared<ContentBudget>(ContentBudget{doctor::limits::content_of(file->stored())});
  auto bytes = decompressed(std::make_unique<const FileSource>(std::move(*file)), *budget);
  if (!bytes) return tl::unexpected(bytes.error());
  ImageArchive archive{.bytes = std::move(*bytes)};
  const auto index = ArchiveIndex::read(*archive.bytes);
  if (!index) return tl::unexpected(index.error());
  auto manifests = read_manifests(*index);
  if (!manifests) return tl::unexpected(manifests.error());
  for (ImageParts& parts : *manifests)
    archive.images.push_back(open_image(std::move(parts), *index, *archive.bytes, budget));
  return archive;
}

}  // namespace flashfit::doctor::container
