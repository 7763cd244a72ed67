#pragma once
// What a file is, by its first bytes.
#include <cstdint>
#include <string_view>

#include "doctor/bytes/bytes.hpp"

namespace flashfit::doctor {

enum class BinaryFormat : std::uint8_t { kNone, kElf, kPe, kMachO, kArchive, kFatbin, kPtx };

/// Bytes that tell every format.
inline constexpr std::size_t kHeadSize = 4096;

/// Bytes that mostly tell a text from all that, and which take a tenth of a head's time to decompress.
inline constexpr std::size_t kFirstLook = 256;
/// Whether a file of which `start` are the first bytes, kFirstLook or more, may have a format. If not, its head tells
/// none.
bool may_have_format(Bytes start);

/// Whether a file with these first bytes is no library of any system, and by its name a compiled module of Python: it
/// was cut to nothing by a full disk, or is Git LFS's pointer to the file. Its import fails.
bool is_broken_module(std::string_view path, Bytes start);
/// What is said of it.
inline constexpr std::string_view kBrokenModule = "malformed: no library, though named as a module of Python, at 0";

/// Of the first kHeadSize bytes, or of all if there are fewer.
BinaryFormat binary_format_of(Bytes head);

}  // namespace flashfit::doctor
