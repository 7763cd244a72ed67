#pragma once
// What a file is, by its first bytes.
#include "doctor/bytes/bytes.hpp"

namespace flashfit::doctor {

enum class BinaryFormat : std::uint8_t { kNone, kElf, kPe, kArchive, kFatbin, kPtx };

/// Bytes that tell every format.
inline constexpr std::size_t kHeadSize = 4096;

/// Bytes that mostly tell a text from all that, and which take a tenth of a head's time to decompress.
inline constexpr std::size_t kFirstLook = 256;
/// Whether a file of which `start` are the first bytes, kFirstLook or more, may have a format. If not, its head tells
/// none.
bool may_have_format(Bytes start);

/// Of the first kHeadSize bytes, or of all if there are fewer.
BinaryFormat binary_format_of(Bytes head);

}  // namespace flashfit::doctor
