#include "images/blob.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

namespace flashfit {
namespace {

constexpr std::string_view kMagic = "FFIMAGES";
constexpr int kLevel = 19;
constexpr int kWindowLog = 24;  // all kernels of a target in one window

std::vector<std::byte> compress(const std::vector<std::byte>& in) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, kWindowLog);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::vector<std::byte> out(ZSTD_compressBound(in.size()));
  out.resize(ZSTD_compress2(context.get(), out.data(), out.size(), in.data(), in.size()));
  return out;
}

nlohmann::json to_json(const BlobEntry& e) {
  return {{"variant", e.variant},
          {"cc", e.target.cc},
          {"ptx", e.target.kind == Target::Kind::kPtx},
          {"registers", e.registers},
          {"local_bytes", e.local_bytes},
          {"shared_bytes", e.shared_bytes},
          {"entry", e.entry},
          {"frame", e.frame},
          {"offset", e.offset},
          {"bytes", e.bytes}};
}

BlobEntry entry_from(const nlohmann::json& j) {
  return {.variant = j.at("variant"),
          .target = {.cc = j.at("cc"), .kind = j.at("ptx").get<bool>() ? Target::Kind::kPtx : Target::Kind::kSass},
          .registers = j.at("registers"),
          .local_bytes = j.at("local_bytes"),
          .shared_bytes = j.at("shared_bytes"),
          .entry = j.at("entry"),
          .frame = j.at("frame"),
          .offset = j.at("offset"),
          .bytes = j.at("bytes")};
}

tl::unexpected<Error> damaged(std::string_view what) {
  return fail(Code::kInternal, fmt::format("the images inside this library are damaged: {}", what));
}

}  // namespace

std::vector<std::byte> pack_blob(std::vector<BlobEntry> entries, const std::vector<std::vector<std::byte>>& images) {
  std::map<Target, std::vector<std::byte>> plain;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::vector<std::byte>& frame = plain[entries[i].target];
    entries[i].offset = frame.size();
    entries[i].bytes = images[i].size();
    frame.insert(frame.end(), images[i].begin(), images[i].end());
  }
  std::vector<std::byte> packed;
  nlohmann::json index = {{"images", nlohmann::json::array()}, {"frames", nlohmann::json::array()}};
  for (const auto& [target, frame] : plain) {
    const std::vector<std::byte> compressed = compress(frame);
    index["frames"].push_back({{"offset", packed.size()}, {"compressed", compressed.size()}, {"bytes", frame.size()}});
    packed.insert(packed.end(), compressed.begin(), compressed.end());
  }
  for (BlobEntry& e : entries) {
    e.frame = static_cast<std::size_t>(std::distance(plain.begin(), plain.find(e.target)));
    index["images"].push_back(to_json(e));
  }
  const std::string text = index.dump();
  const std::uint64_t size = text.size();
  std::vector<std::byte> blob(kMagic.size() + sizeof size + text.size());
  std::memcpy(blob.data(), kMagic.data(), kMagic.size());
  std::memcpy(blob.data() + kMagic.size(), &size, sizeof size);
  std::memcpy(blob.data() + kMagic.size() + sizeof size, text.data(), text.size());
  blob.insert(blob.end(), packed.begin(), packed.end());
  return blob;
}

Result<BlobIndex> read_blob(std::span<const std::byte> blob) {
  std::uint64_t size = 0;
  const std::size_t head = kMagic.size() + sizeof size;
  if (blob.size() < head || std::memcmp(blob.data(), kMagic.data(), kMagic.size()) != 0) return damaged("no index");
  std::memcpy(&size, blob.data() + kMagic.size(), sizeof size);
  if (size > blob.size() - head) return damaged("the index is cut short");
  const char* text = reinterpret_cast<const char*>(blob.data() + head);
  BlobIndex index{.begin = head + size};
  try {
    const nlohmann::json j = nlohmann::json::parse(text, text + size);
    for (const nlohmann::json& f : j.at("frames"))
      index.frames.push_back({.offset = f.at("offset"), .compressed = f.at("compressed"), .bytes = f.at("bytes")});
    for (const nlohmann::json& e : j.at("images")) index.entries.push_back(entry_from(e));
  } catch (const nlohmann::json::exception& e) {
    return damaged(e.what());
  }
  const std::size_t rest = blob.size() - index.begin;
  for (const BlobFrame& f : index.frames)
    if (f.offset > rest || f.compressed > rest - f.offset) return damaged("a frame lies outside");
  for (const BlobEntry& e : index.entries)
    if (e.frame >= index.frames.size() || e.offset > index.frames[e.frame].bytes ||
        e.bytes > index.frames[e.frame].bytes - e.offset)
      return damaged("an image lies outside its frame");
  return index;
}

Result<std::vector<std::byte>> unpack_image(std::span<const std::byte> blob, const BlobIndex& index,
                                            const BlobEntry& entry) {
  const BlobFrame& frame = index.frames[entry.frame];
  const std::byte* compressed = blob.data() + index.begin + frame.offset;
  // Before the memory is asked for: a damaged size could be any.
  if (ZSTD_getFrameContentSize(compressed, frame.compressed) != frame.bytes) return damaged("a frame's size is wrong");
  std::vector<std::byte> plain(frame.bytes);
  const std::size_t n = ZSTD_decompress(plain.data(), plain.size(), compressed, frame.compressed);
  if (ZSTD_isError(n) != 0 || n != plain.size())
    return damaged(ZSTD_isError(n) != 0 ? ZSTD_getErrorName(n) : "a frame is cut short");
  return std::vector<std::byte>(plain.begin() + static_cast<std::ptrdiff_t>(entry.offset),
                                plain.begin() + static_cast<std::ptrdiff_t>(entry.offset + entry.bytes));
}

}  // namespace flashfit
