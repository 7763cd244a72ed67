// Marks of encodings at the beginning of texts, and UTF-16.
#include "doctor/bytes/encoding.hpp"

#include <gtest/gtest.h>

namespace flashfit::doctor {
namespace {

using namespace std::string_literals;

TEST(Encoding, BytesWithoutAMarkStay) {
  EXPECT_EQ(as_utf8("torch==2.9.1\n"), "torch==2.9.1\n");
  EXPECT_EQ(as_utf8("\xff"), "\xff");
  EXPECT_FALSE(has_encoding_mark("torch"));
}

TEST(Encoding, MarksAreLeftOut) {
  EXPECT_EQ(as_utf8("\xef\xbb\xbftorch"), "torch");
  EXPECT_EQ(as_utf8("\xff\xfet\0o\0"s), "to");
  EXPECT_EQ(as_utf8("\xfe\xff\0t\0o"s), "to");
  EXPECT_TRUE(has_encoding_mark("\xff\xfe"));
}

TEST(Encoding, Utf8IsWhatPythonDecodes) {
  for (const std::string& text : {""s, "torch"s, "J\xc3\xbc"s, "\xe6\x89\xbe"s, "\xf0\x9f\x98\x80"s, "\xef\xbb\xbfx"s,
                                  "\xf4\x8f\xbf\xbf"s, "\xed\x9f\xbf"s, "\0"s, "\xc2\x80"s})
    EXPECT_TRUE(is_utf8(text)) << text;
  for (const std::string& text :
       {"J\xfc\n"s, "\xff"s, "\x80"s, "\xc0\x80"s, "\xc1\xbf"s, "\xc3"s, "\xe6\x89"s, "\xe6\x89x"s, "\xe0\x9f\xbf"s,
        "\xed\xa0\x80"s, "\xf0\x8f\xbf\xbf"s, "\xf4\x90\x80\x80"s, "\xf5\x80\x80\x80"s})
    EXPECT_FALSE(is_utf8(text)) << text;
}

TEST(Encoding, EveryLengthOfCharacter) {
  EXPECT_EQ(as_utf8("\xff\xfe\xe9\0"s), "é");
  EXPECT_EQ(as_utf8("\xff\xfe\x7e\x62"s), "找");
  EXPECT_EQ(as_utf8("\xff\xfe\x3d\xd8\x00\xde"s), "\xf0\x9f\x98\x80");
}

TEST(Encoding, WhatIsCutOrAloneIsNoCharacter) {
  EXPECT_EQ(as_utf8("\xff\xfet\0o"s), "t") << "an odd byte at the end";
  EXPECT_EQ(as_utf8("\xff\xfe\x3d\xd8"s), "\xef\xbf\xbd") << "half of a pair, at the end";
  EXPECT_EQ(as_utf8("\xff\xfe\x3d\xd8t\0"s), "\xef\xbf\xbdt") << "half of a pair";
  EXPECT_EQ(as_utf8("\xff\xfe\x00\xdet\0"s), "\xef\xbf\xbdt") << "the other half alone";
}

}  // namespace
}  // namespace flashfit::doctor
