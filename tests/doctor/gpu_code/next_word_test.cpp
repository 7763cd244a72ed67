// The search at every eighth byte: against one that looks at each word by itself.
#include "doctor/gpu_code/next_word.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace flashfit::doctor {
namespace {

constexpr std::uint32_t kWanted = 0xba55ed50;  // as a fat binary begins

bool is_wanted(std::uint32_t start) { return start == kWanted; }

std::size_t one_by_one(Bytes view, std::size_t from) {
  for (; from + kWord <= view.size(); from += kWord)
    if (is_wanted(start_of_word(&view[from]))) return from;
  return from;
}

void put(std::vector<std::byte>& bytes, std::size_t at) { std::memcpy(&bytes[at], &kWanted, sizeof kWanted); }

// Sizes around the blocks of 16 words that are looked at together, with the word at each place of them.
TEST(NextWord, FindsAWordAtEachPlace) {
  for (const std::size_t size : {0U, 1U, 7U, 8U, 9U, 127U, 128U, 129U, 135U, 136U, 255U, 256U, 300U})
    for (std::size_t place = 0; place < size; ++place) {
      std::vector<std::byte> bytes(size);
      if (place + sizeof kWanted <= size) put(bytes, place);
      for (const std::size_t from : {0U, 1U, 8U, 64U, 128U})
        ASSERT_EQ(next_word(bytes, from, is_wanted), one_by_one(bytes, from))
            << size << " bytes, the word at " << place << ", from " << from;
    }
}

TEST(NextWord, TakesTheFirstOfMany) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::byte> bytes(random() % 2000);
    for (std::size_t at = 0; at + kWord <= bytes.size(); at += kWord)
      if (random() % 40 == 0) put(bytes, at);
    std::size_t at = random() % 9;
    // As its callers go on: behind what was found.
    while (at + kWord <= bytes.size()) {
      const std::size_t found = next_word(bytes, at, is_wanted);
      ASSERT_EQ(found, one_by_one(bytes, at)) << "from " << at << " of " << bytes.size();
      at = found + kWord;
    }
  }
}

// What begins in the last bytes and ends behind them is the next call's.
TEST(NextWord, LeavesAWordThatIsCut) {
  std::vector<std::byte> bytes(20);
  put(bytes, 16);
  EXPECT_EQ(next_word(bytes, 0, is_wanted), 16U);
  bytes.resize(24);
  EXPECT_EQ(next_word(bytes, 0, is_wanted), 16U);
  EXPECT_EQ(next_word(bytes, 24, is_wanted), 24U);
  EXPECT_EQ(next_word(bytes, 100, is_wanted), 100U) << "behind the end nothing is read";
}

}  // namespace
}  // namespace flashfit::doctor
