#include "doctor/gpu_code/fatbin_payload.hpp"

#include <lz4.h>
#include <zstd.h>

namespace flashfit::doctor {
namespace {

constexpr std::uint32_t kZstdMagic = 0xfd2fb528;
/// LZ4's best: a byte of a length stands for 255 bytes.
constexpr std::uint64_t kBestLz4 = 255;

const char* raw(Bytes bytes) { return reinterpret_cast<const char*>(bytes.data()); }

}  // namespace

Result<std::vector<std::byte>> read_image(const Source& source, const FatbinEntry& entry, std::uint64_t limit) {
  if (entry.kind == FatbinKind::kLto || (entry.flags & kFatbinLto) != 0)
    return malformed("LTO code, which is not decoded,", entry.offset);
  const std::uint64_t stored = entry.compressed != 0 ? entry.compressed : entry.size;
  auto packed = read_part(source, entry.offset, stored, limit, "image");
  if (!packed || entry.compressed == 0) return packed;
  if (entry.uncompressed > limit) return beyond("size of an image", limit, entry.offset);

  const bool zstd = (entry.flags & kFatbinZstd) != 0, lz4 = (entry.flags & kFatbinLz4) != 0;
  if (zstd == lz4) return malformed("compression that is not known", entry.offset);
  if (zstd && Reader(*packed).u32() != kZstdMagic) return malformed("ZSTD image", entry.offset);
  if (lz4 && entry.uncompressed > kBestLz4 * (stored + 1)) return malformed("size of an LZ4 image", entry.offset);

  std::vector<std::byte> image(static_cast<std::size_t>(entry.uncompressed));
  auto* const into = reinterpret_cast<char*>(image.data());
  const bool whole = zstd ? ZSTD_decompress(into, image.size(), raw(*packed), packed->size()) == image.size()
                          : LZ4_decompress_safe(raw(*packed), into, static_cast<int>(packed->size()),
                                                static_cast<int>(image.size())) == static_cast<int>(image.size());
  if (!whole) return malformed(zstd ? "ZSTD image" : "LZ4 image", entry.offset);
  return image;
}

}  // namespace flashfit::doctor
