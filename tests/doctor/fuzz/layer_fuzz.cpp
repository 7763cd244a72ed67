// Any bytes as the layers of an image: what is found in small chunks is what is found at once, and whatever tree comes
// of it holds together. Headers get the checksum that they need, or next to no mutation would be looked at.
#include <cstdlib>
#include <vector>

#include "doctor/container/image_tree.hpp"
#include "doctor/fuzz/answer.hpp"

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

namespace {

using namespace flashfit;
using namespace flashfit::doctor;

class Names final : public TarVisitor {
 public:
  Result<bool> begin(const TarMember& member) override {
    text += member.name + "|" + member.target + "|" + std::to_string(member.offset) + "|" +
            std::to_string(member.size) + ";";
    return true;
  }
  Result<void> content(Bytes piece) override {
    text += as_text(piece);
    return {};
  }
  Result<void> end() override {
    text += '\n';
    return {};
  }
  std::string text;
};

std::string read_in(Bytes bytes, std::size_t chunk) {
  Names names;
  TarReader tar(names);
  for (std::size_t at = 0; at < bytes.size(); at += chunk)
    if (auto fed = tar.feed(at, bytes.subspan(at, std::min(chunk, bytes.size() - at))); !fed) {
      fuzz::require_answer(fed);
      return names.text + fed.error().message;
    }
  fuzz::require_answer(tar.finish(bytes.size()));
  return names.text;
}

void mend_checksums(std::vector<std::uint8_t>& bytes) {
  for (std::size_t at = 0; at + 512 <= bytes.size(); at += 512) {
    if (bytes[at + 257] != 'u' || bytes[at + 258] != 's') continue;
    unsigned sum = 8 * ' ';
    for (std::size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? 0 : bytes[at + i];
    for (int digit = 5; digit >= 0; --digit, sum /= 8)
      bytes[at + 148 + static_cast<std::size_t>(digit)] = static_cast<std::uint8_t>('0' + sum % 8);
    bytes[at + 154] = 0;
  }
}

/// Every entry is what it is said to be, and a file can be read to its end or says why not.
void walk(const container::ImageTree& tree) {
  std::vector<std::string> left{"/"};
  for (int seen = 0; !left.empty() && seen < 1000; ++seen) {
    const std::string path = left.back();
    left.pop_back();
    const auto entries = tree.list_here(path);
    fuzz::require(entries.has_value());
    for (const dynamic_loader::Entry& entry : *entries) {
      fuzz::require(!entry.name.empty() && entry.name != "." && entry.name != ".." &&
                    entry.name.find('/') == std::string::npos);
      const std::string below = dynamic_loader::join(path, entry.name);
      const dynamic_loader::Node node = tree.look(below);
      fuzz::require(node.kind == entry.kind);
      if (node.kind == dynamic_loader::FileKind::kFolder) left.push_back(below);
      if (node.kind != dynamic_loader::FileKind::kFile) continue;
      const auto file = tree.open_here(below);
      fuzz::require_answer(file);
      if (file) fuzz::require((*file)->size() == node.size);
      (void)tree.resolve(below);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> mended(data, data + size);
  mend_checksums(mended);
  const Bytes bytes = std::as_bytes(std::span(mended));
  fuzz::require(read_in(bytes, size + 1) == read_in(bytes, 1 + size % 61));
  // The first half is the newer layer, the second the older; the whole is a third.
  const std::size_t half = size / 1024 * 512;
  std::vector<container::LayerSource> layers;
  for (const Bytes part : {bytes.first(half), bytes.subspan(half), bytes})
    layers.push_back({.bytes = std::make_unique<MemorySource>(part)});
  const auto budget = std::make_shared<container::ContentBudget>(
      container::ContentBudget{flashfit::doctor::limits::content_of(bytes.size())});
  const auto tree = container::ImageTree::make(std::move(layers), budget);
  fuzz::require(tree.has_value());
  if (!(*tree)->error().empty()) fuzz::require_line((*tree)->error());
  walk(**tree);
  return 0;
}
