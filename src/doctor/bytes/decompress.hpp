#pragma once
// Streams of gzip and Zstandard, decompressed in order and in steps. ISA-L and libzstd do the work, and hold what is
// said of lengths and checksums against what comes out.
#include <functional>

#include "doctor/bytes/source.hpp"

namespace flashfit::doctor {

enum class Compression : std::uint8_t { kNone, kGzip, kZstd };
/// By the first four bytes.
Compression compression_of(Bytes head);

/// Passes the bytes of all the stream's parts to `visit`, as Content::read_through does: it gives the offset of the
/// next byte wanted, and one behind all that may come ends the pass. Gives the number of bytes that came before the
/// end; of kNone it is the source's size. Errors: the visitor's; "malformed: WHAT at OFFSET" with the offset in the
/// compressed stream; more than `limit` bytes come out.
Result<std::uint64_t> read_decompressed(
    const Source& source, Compression compression, std::uint64_t limit,
    const std::function<Result<std::uint64_t>(std::uint64_t at, Bytes chunk)>& visit);

}  // namespace flashfit::doctor
