#pragma once
// What a file is, by its first bytes.
#include "doctor/bytes/bytes.hpp"

namespace flashfit::doctor {

enum class BinaryFormat : std::uint8_t { kNone, kElf, kPe, kArchive, kFatbin, kPtx };

/// Bytes that tell every format.
inline constexpr std::size_t kHeadSize = 4096;

/// Of the first kHeadSize bytes, or of all if there are fewer.
BinaryFormat binary_format_of(Bytes head);

}  // namespace flashfit::doctor
