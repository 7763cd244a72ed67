// Quoted words of other languages: what is kept, and what could mislead a reader of the line.
#include "core/base/readable.hpp"

#include <gtest/gtest.h>

namespace flashfit {
namespace {

TEST(Readable, KeepsWordsOfOtherLanguages) {
  for (const char* const text :
       {"plain words", "找不到指定的程序。", "지정된 모듈을 찾을 수 없습니다.", "プロシージャが見つかりません",
        "La procédure spécifiée est introuvable", "Не найдена указанная процедура", "„Prozedur“ – nicht gefunden…"})
    EXPECT_EQ(readable(text), text);
}

TEST(Readable, EscapesWhatIsNoCharacterOrMovesOthers) {
  EXPECT_EQ(readable("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(readable("a\xe2\x80\xae z"), "a\\xe2\\x80\\xae z") << "right-to-left override";
  EXPECT_EQ(readable("a\xc2\xad z"), "a\\xc2\\xad z") << "soft hyphen";
  EXPECT_EQ(readable("e\xcc\x81"), "e\\xcc\\x81") << "a combining accent";
  EXPECT_EQ(readable("\xc1\xa1\xe0\x82\xa1"), "\\xc1\\xa1\\xe0\\x82\\xa1") << "longer than need be";
  EXPECT_EQ(readable("\xe6\x89"), "\\xe6\\x89") << "cut short";
  EXPECT_EQ(readable("\xf0\x9f\x98\x80"), "\\xf0\\x9f\\x98\\x80");
}

TEST(Readable, IsCutAtACharacter) {
  EXPECT_EQ(readable("ab", 2), "ab");
  EXPECT_EQ(readable("abc", 2), "ab...");
  EXPECT_EQ(readable("a程序", 4), "a程...");
  EXPECT_EQ(readable("a程序", 6), "a程...");
  EXPECT_EQ(readable("a程序", 7), "a程序");
}

}  // namespace
}  // namespace flashfit
