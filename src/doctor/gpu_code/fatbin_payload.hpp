#pragma once
// The image that an entry of a fat binary holds, decompressed: only when its content is asked for.
#include <vector>

#include "doctor/bytes/source.hpp"
#include "doctor/gpu_code/fatbin.hpp"

namespace flashfit::doctor {

/// The largest cubins seen have some 30 MB.
inline constexpr std::uint64_t kMostImageBytes = std::uint64_t{256} << 20;

/// The entry's image: a cubin, or PTX (which a zero may end). `source` is what the entry's offset counts in. Errors:
/// malformed; LTO code and NVIDIA's older compression, which are not decoded; more than `limit` bytes.
Result<std::vector<std::byte>> read_image(const Source& source, const FatbinEntry& entry,
                                          std::uint64_t limit = kMostImageBytes);

}  // namespace flashfit::doctor
