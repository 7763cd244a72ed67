#pragma once
// A search at every eighth byte, where linkers put what GPU code begins with. All of a library goes through it.
#include <cstdint>
#include <cstring>

#include "doctor/bytes/bytes.hpp"

namespace flashfit::doctor {

inline constexpr std::size_t kWord = 8;

/// The first four bytes of a word.
inline std::uint32_t start_of_word(const std::byte* at) {
  std::uint32_t start = 0;
  std::memcpy(&start, at, sizeof start);
  return start;
}

/// The first of the words at `from`, `from` + 8, ... whose start is `wanted`; if none is, where the first word begins
/// that `view` does not hold whole.
template <typename Wanted>
std::size_t next_word(Bytes view, std::size_t from, Wanted wanted) {
  // Blocks without a branch on each word, which compilers turn into vector code: half of the time.
  constexpr std::size_t kBlock = 16;
  std::size_t at = from;
  for (; at + kBlock * kWord <= view.size(); at += kBlock * kWord) {
    unsigned any = 0;
    for (std::size_t i = 0; i < kBlock; ++i) any |= static_cast<unsigned>(wanted(start_of_word(&view[at + i * kWord])));
    if (any != 0) break;
  }
  while (at + kWord <= view.size() && !wanted(start_of_word(&view[at]))) at += kWord;
  return at;
}

}  // namespace flashfit::doctor
