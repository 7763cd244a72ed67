// Words: many at once, whatever lies within or over another.
#include "doctor/pasted/regex.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace flashfit::doctor::pasted {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Words, AreFoundWithinAndOverOneAnotherAndTwice) {
  const Words words({"undefined symbol: ", "symbol: cu", "cu", "defined", "cu", "a.b"});
  EXPECT_THAT(words.in("x: undefined symbol: cuX"), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(words.in("defined and undefined symbol"), ElementsAre(3));
  EXPECT_THAT(words.in("axb"), IsEmpty()) << "words are no patterns";
  EXPECT_THAT(words.in(""), IsEmpty());
  EXPECT_TRUE(words.any_in("a.b"));
  EXPECT_FALSE(words.any_in("undefine"));
}

TEST(Words, AreThoseThatASearchForEachFinds) {
  std::mt19937 random(20261125);
  const auto text_of = [&](std::size_t most) {
    std::string text(1 + random() % most, '\0');
    for (char& c : text) c = static_cast<char>('a' + random() % 3);
    return text;
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> texts;
    for (int i = 0; i < 12; ++i) texts.push_back(text_of(6));
    const Words words({texts.begin(), texts.end()});
    const std::string text = text_of(40);
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < texts.size(); ++i)
      if (text.find(texts[i]) != std::string::npos) expected.push_back(i);
    ASSERT_EQ(words.in(text), expected) << text;
    ASSERT_EQ(words.any_in(text), !expected.empty()) << text;
  }
}

}  // namespace
}  // namespace flashfit::doctor::pasted
