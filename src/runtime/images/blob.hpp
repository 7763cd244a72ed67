#pragma once
// The packed images: an index and one compressed frame a target, so that a GPU decompresses only what can run on it.
// Kernels of one target resemble each other: together in one zstd frame they
// take a tenth of their size, alone a quarter.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/gpu/target.hpp"

namespace flashfit {

/// An image as the blob's index describes it.
struct BlobEntry {
  std::string kernel;  ///< what the image is asked for by: the name of a variant
  Target target;
  int registers = 0, local_bytes = 0, shared_bytes = 0;
  std::string entry;
  std::size_t frame = 0;   ///< which frame
  std::size_t offset = 0;  ///< in the frame, uncompressed
  std::size_t bytes = 0;
};

struct BlobFrame {
  std::size_t offset = 0;  ///< from the end of the index
  std::size_t compressed = 0, bytes = 0;
};

struct BlobIndex {
  std::vector<BlobEntry> entries;
  std::vector<BlobFrame> frames;
  std::size_t begin = 0;  ///< where frames begin in the blob
};

/// Packs images; `entries[i]` describes `images[i]`, its frame, offset and bytes are filled in here.
std::vector<std::byte> pack_blob(std::vector<BlobEntry> entries, const std::vector<std::vector<std::byte>>& images);

/// Reads the index. Every field is checked against the blob's size.
Result<BlobIndex> read_blob(std::span<const std::byte> blob);

/// One image's bytes. zstd's checksum covers them.
Result<std::vector<std::byte>> unpack_image(std::span<const std::byte> blob, const BlobIndex& index,
                                            const BlobEntry& entry);

}  // namespace flashfit
