#pragma once
// SHA-256 (FIPS 180-4), by which lists name the files that they mean.
#include <array>
#include <cstdint>
#include <string>

#include "inspect/source.hpp"

namespace flashfit::requests {

class Sha256 {
 public:
  void update(inspect::Bytes bytes);
  /// 64 lower-case hex digits of all that came; once, at the end.
  std::string finish();

 private:
  void block(const std::byte* bytes);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> rest_{};  ///< what fills no block yet
  std::uint64_t size_ = 0;            ///< bytes that came
};

/// Of a file's bytes. Errors: it cannot be opened, or read.
Result<std::string> sha256_of_file(const std::string& path);

}  // namespace flashfit::requests
