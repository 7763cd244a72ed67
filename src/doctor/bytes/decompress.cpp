#include "doctor/bytes/decompress.hpp"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "doctor/bytes/content.hpp"
#include "doctor/bytes/limits.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;

/// One step: what was taken of the input and given to the output, and whether a part of the stream ended.
struct Step {
  std::size_t consumed = 0, produced = 0;
  bool ended = false;
};

class Gzip {
 public:
  static constexpr std::string_view kName = "gzip stream";
  Gzip() { begin(); }
  void begin() {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
  }
  std::optional<Step> step(Bytes input, std::span<std::byte> output) {
    // ISA-L takes its input as uint8_t* and does not write to it.
    state_.next_in = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(input.data()));
    state_.avail_in = static_cast<std::uint32_t>(input.size());
    state_.next_out = reinterpret_cast<std::uint8_t*>(output.data());
    state_.avail_out = static_cast<std::uint32_t>(output.size());
    if (isal_inflate(&state_) < ISAL_DECOMP_OK) return std::nullopt;
    return Step{input.size() - state_.avail_in, output.size() - state_.avail_out,
                state_.block_state == ISAL_BLOCK_FINISH};
  }

 private:
  inflate_state state_;
};

class Zstd {
 public:
  static constexpr std::string_view kName = "Zstandard stream";
  void begin() {}
  std::optional<Step> step(Bytes input, std::span<std::byte> output) {
    ZSTD_inBuffer in{input.data(), input.size(), 0};
    ZSTD_outBuffer out{output.data(), output.size(), 0};
    const std::size_t left = ZSTD_decompressStream(state_.get(), &out, &in);
    if (ZSTD_isError(left) != 0) return std::nullopt;
    return Step{in.pos, out.pos, left == 0};
  }

 private:
  struct Free {
    void operator()(ZSTD_DCtx* state) const { ZSTD_freeDCtx(state); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> state_{ZSTD_createDCtx()};
};

using Visit = std::function<Result<std::uint64_t>(std::uint64_t, Bytes)>;

/// Parts follow one another; zeros behind the last are padding. A visitor that wants an offset past `behind` ends the
/// pass.
template <class Format>
Result<std::uint64_t> decompress(const Source& source, std::uint64_t limit, std::uint64_t behind, const Visit& visit) {
  const auto format = std::make_unique<Format>();
  std::vector<std::byte> input(kChunk), output(kChunk);
  std::uint64_t produced = 0;
  bool ended = false;  // the last part has
  for (std::uint64_t at = 0; at < source.size();) {
    const auto chunk =
        std::span(input).first(static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, source.size() - at)));
    if (!source.read(at, chunk)) return malformed("file cut short while it was read", at);
    for (Bytes pending = chunk;;) {
      if (ended) {
        if (pending.empty()) break;
        if (pending[0] == std::byte{0}) return produced;
        format->begin();
        ended = false;
      }
      const auto step = format->step(pending, output);
      const std::uint64_t where = at + (chunk.size() - pending.size());
      if (!step) return malformed(Format::kName, where);
      pending = pending.subspan(step->consumed);
      ended = step->ended;
      if (step->produced > 0) {
        if (produced + step->produced > limit)
          return beyond(fmt::format("content of a {}", Format::kName), limit, where);
        const auto wanted = visit(produced, Bytes(output).first(step->produced));
        if (!wanted) return tl::unexpected(wanted.error());
        produced += step->produced;
        if (*wanted > behind) return produced;
      }
      if (!ended && step->produced < output.size() && pending.empty()) break;
      if (!ended && step->produced == 0 && step->consumed == 0) return malformed(Format::kName, where);
    }
    at += chunk.size();
  }
  if (!ended) return malformed(fmt::format("{} cut short", Format::kName), source.size());
  return produced;
}

}  // namespace

Compression compression_of(Bytes head) {
  Reader reader(head);
  const std::uint32_t magic = reader.u32();
  if ((magic & 0xffff) == 0x8b1f) return Compression::kGzip;
  return magic == 0xfd2fb528 ? Compression::kZstd : Compression::kNone;
}

Result<std::uint64_t> read_decompressed(const Source& source, Compression compression, std::uint64_t limit,
                                        const Visit& visit) {
  const std::uint64_t most = std::min(limit, limits::content_of(source.stored()).most);
  if (compression == Compression::kGzip) return decompress<Gzip>(source, most, limit, visit);
  if (compression == Compression::kZstd) return decompress<Zstd>(source, most, limit, visit);
  if (auto passed = SourceContent(source).read_through(visit); !passed) return tl::unexpected(passed.error());
  return source.size();
}

}  // namespace flashfit::doctor
