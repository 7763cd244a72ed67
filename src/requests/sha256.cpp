#include "requests/sha256.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace flashfit::requests {
namespace {

constexpr std::size_t kBlock = 64;

// FIPS 180-4, 4.2.2.
constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t word_at(const std::byte* bytes) {
  return std::to_integer<std::uint32_t>(bytes[0]) << 24 | std::to_integer<std::uint32_t>(bytes[1]) << 16 |
         std::to_integer<std::uint32_t>(bytes[2]) << 8 | std::to_integer<std::uint32_t>(bytes[3]);
}

}  // namespace

void Sha256::block(const std::byte* bytes) {
  // The names are the standard's, 6.2.2.
  std::array<std::uint32_t, 64> w{};
  for (std::size_t t = 0; t < 16; ++t) w[t] = word_at(bytes + 4 * t);
  for (std::size_t t = 16; t < w.size(); ++t) {
    const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t t = 0; t < w.size(); ++t) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[t] + w[t];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> add{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < add.size(); ++i) state_[i] += add[i];
}

void Sha256::update(inspect::Bytes bytes) {
  while (!bytes.empty()) {
    const std::size_t filled = size_ % kBlock, taken = std::min(kBlock - filled, bytes.size());
    if (taken == kBlock) {
      block(bytes.data());
    } else {
      std::copy_n(bytes.begin(), taken, rest_.begin() + static_cast<std::ptrdiff_t>(filled));
      if (filled + taken == kBlock) block(rest_.data());
    }
    size_ += taken;
    bytes = bytes.subspan(taken);
  }
}

std::string Sha256::finish() {
  const std::uint64_t bits = size_ * 8;
  constexpr std::size_t kLength = 8;
  std::vector<std::byte> tail(1 + (2 * kBlock - 1 - kLength - size_ % kBlock) % kBlock + kLength);
  tail[0] = std::byte{0x80};
  for (std::size_t i = 0; i < kLength; ++i)
    tail[tail.size() - 1 - i] = static_cast<std::byte>(static_cast<unsigned char>(bits >> (8 * i)));
  update(tail);
  std::string hex;
  for (const std::uint32_t word : state_) hex += fmt::format("{:08x}", word);
  return hex;
}

Result<std::string> sha256_of_file(const std::string& path) {
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 18;
  const auto file = inspect::FileSource::open(path);
  if (!file) return tl::unexpected(file.error());
  Sha256 hash;
  std::vector<std::byte> chunk(static_cast<std::size_t>(std::min(kChunk, file->size())));
  for (std::uint64_t at = 0; at < file->size();) {
    const auto part = std::span(chunk).first(static_cast<std::size_t>(std::min(kChunk, file->size() - at)));
    if (!file->read(at, part)) return inspect::malformed("file cut short", at);
    hash.update(part);
    at += part.size();
  }
  return hash.finish();
}

}  // namespace flashfit::requests
