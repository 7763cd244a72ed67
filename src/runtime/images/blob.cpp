#include "runtime/images/blob.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <type_traits>

namespace flashfit {
namespace {

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

/// The index: this, the frames as BlobFrames, and a Record with its texts for each image. The tool and the library
/// are of one build for one machine, so numbers lie as they do in memory.
struct Head {
  std::array<char, 8> magic;
  std::uint64_t frames, images;
};
constexpr std::array<char, 8> kMagic = {'F', 'F', 'I', 'M', 'A', 'G', 'E', 'S'};

struct Record {
  std::int32_t registers, local_bytes, shared_bytes;
  std::uint32_t kernel_size, target_size, entry_size;
  std::uint64_t frame, offset, bytes;
};

void put(std::vector<std::byte>& to, const void* from, std::size_t bytes) {
  // Not insert(): at -O3 g++ 12 takes the move of nothing behind the end for an overflow.
  if (bytes == 0) return;
  to.resize(to.size() + bytes);
  std::memcpy(to.data() + to.size() - bytes, from, bytes);
}
template <class T>
void put(std::vector<std::byte>& to, const T& plain) {
  static_assert(std::has_unique_object_representations_v<T>, "no padding");
  put(to, &plain, sizeof plain);
}

void put(std::vector<std::byte>& to, const BlobEntry& e) {
  const std::string target = e.target.str();
  put(to, Record{.registers = e.registers,
                 .local_bytes = e.local_bytes,
                 .shared_bytes = e.shared_bytes,
                 .kernel_size = static_cast<std::uint32_t>(e.kernel.size()),
                 .target_size = static_cast<std::uint32_t>(target.size()),
                 .entry_size = static_cast<std::uint32_t>(e.entry.size()),
                 .frame = e.frame,
                 .offset = e.offset,
                 .bytes = e.bytes});
  for (const std::string& text : {e.kernel, target, e.entry}) put(to, text.data(), text.size());
}

/// Takes from the front of what is left; false if that is too short.
struct Reader {
  std::span<const std::byte> left;

  bool take(void* to, std::size_t bytes) {
    if (left.size() < bytes) return false;
    std::memcpy(to, left.data(), bytes);
    left = left.subspan(bytes);
    return true;
  }
  bool take(std::string& to, std::size_t size) {
    if (left.size() < size) return false;
    to.resize(size);
    return take(to.data(), size);
  }
  /// False for a target that is none, too.
  bool take(BlobEntry& e) {
    Record r;
    if (!take(&r, sizeof r)) return false;
    e = {.registers = r.registers,
         .local_bytes = r.local_bytes,
         .shared_bytes = r.shared_bytes,
         .frame = r.frame,
         .offset = r.offset,
         .bytes = r.bytes};
    std::string text;
    if (!take(e.kernel, r.kernel_size) || !take(text, r.target_size)) return false;
    const std::optional<Target> target = parse_target(text);
    if (target) e.target = *target;
    return target && take(e.entry, r.entry_size);
  }
};

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
  std::vector<std::byte> blob, packed;
  put(blob, Head{.magic = kMagic, .frames = plain.size(), .images = entries.size()});
  for (const auto& [target, frame] : plain) {
    const std::vector<std::byte> compressed = compress(frame);
    put(blob, BlobFrame{.offset = packed.size(), .compressed = compressed.size(), .bytes = frame.size()});
    packed.insert(packed.end(), compressed.begin(), compressed.end());
  }
  for (BlobEntry& e : entries) {
    e.frame = static_cast<std::size_t>(std::distance(plain.begin(), plain.find(e.target)));
    put(blob, e);
  }
  blob.insert(blob.end(), packed.begin(), packed.end());
  return blob;
}

Result<BlobIndex> read_blob(std::span<const std::byte> blob) {
  Reader reader{blob};
  Head head;
  if (!reader.take(&head, sizeof head) || head.magic != kMagic) return damaged("no index");
  BlobIndex index;
  // A damaged count ends with the bytes, so no memory is asked for by it.
  for (std::uint64_t i = 0; i < head.frames; ++i) {
    if (!reader.take(&index.frames.emplace_back(), sizeof(BlobFrame))) return damaged("the index is cut short");
  }
  for (std::uint64_t i = 0; i < head.images; ++i) {
    if (!reader.take(index.entries.emplace_back())) return damaged("the index is cut short, or names no target");
  }
  index.begin = blob.size() - reader.left.size();
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
