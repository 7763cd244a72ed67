#include "doctor/requests/sha256.hpp"

#include <sha2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "doctor/bytes/source.hpp"

namespace flashfit::doctor::requests {

Result<std::string> sha256_of_file(const std::string& path) {
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 18;
  const auto file = doctor::FileSource::open(path);
  if (!file) return tl::unexpected(file.error());
  SHA2_CTX context;
  SHA256Init(&context);
  std::vector<std::byte> chunk(static_cast<std::size_t>(std::min(kChunk, file->size())));
  for (std::uint64_t at = 0; at < file->size();) {
    const auto part = std::span(chunk).first(static_cast<std::size_t>(std::min(kChunk, file->size() - at)));
    if (!file->read(at, part)) return doctor::malformed("file cut short", at);
    SHA256Update(&context, reinterpret_cast<const std::uint8_t*>(part.data()), part.size());
    at += part.size();
  }
  std::array<char, SHA256_DIGEST_STRING_LENGTH> hex{};
  SHA256End(&context, hex.data());
  return std::string(hex.data());
}

}  // namespace flashfit::doctor::requests
