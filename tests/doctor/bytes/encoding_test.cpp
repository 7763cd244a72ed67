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
