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

/// What is wrong with a file that cannot be what its name says, by its first bytes; "" if it can. It was cut to nothing
/// by a full disk, or is Git LFS's pointer to the file: a compiled module of Python that is no library of any system,
/// whose import fails; machine code for GPUs or a compiler of it that is empty.
std::string_view broken_by_name(std::string_view path, Bytes start);
/// Whether a file of this name is looked at however short it is: the names of shared libraries, of machine code for
/// GPUs and of its compilers. Packages open these by their names.
bool is_named_as_code(std::string_view path);

/// Of the first kHeadSize bytes, or of all if there are fewer.
BinaryFormat binary_format_of(Bytes head);

}  // namespace flashfit::doctor
