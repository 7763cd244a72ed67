#pragma once
// Raw deflate (RFC 1951), decompressed in steps. ISA-L does the work.
#include <memory>

#include "doctor/bytes/bytes.hpp"

namespace flashfit::doctor {

class Inflater {
 public:
  Inflater();
  Inflater(Inflater&&) noexcept;
  Inflater& operator=(Inflater&&) noexcept;
  ~Inflater();

  struct Step {
    std::size_t consumed = 0, produced = 0;
    bool done = false;  ///< the stream's last block has ended
  };
  /// Decompresses from `input` to `output` until either ends or the stream does. What was not consumed must be given
  /// again. Error: the bytes are no deflate stream; without an offset, which only the caller knows.
  Result<Step> step(Bytes input, std::span<std::byte> output);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// CRC-32 of zip (IEEE 802.3, reflected); `crc` is that of the bytes before, 0 at the start.
std::uint32_t crc32(std::uint32_t crc, Bytes bytes);

}  // namespace flashfit::doctor
