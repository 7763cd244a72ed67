#include "doctor/pasted/pasted_text.hpp"

#include <gtest/gtest.h>

namespace flashfit::doctor::pasted {
namespace {

TEST(PastedText, LosesEscapesAndPrefixesAndKeepsLineNumbers) {
  const PastedText text =
      read_pasted("a\n\n  \x1b[31mred\x1b[0m \x1b]0;title\x07go\r\n10%\r50%\rdone\n[rank0]:   File\n");
  ASSERT_EQ(text.lines.size(), 4U);
  EXPECT_EQ(text.lines[1].text, "  red go");
  EXPECT_EQ(text.lines[1].number, 3U);
  EXPECT_EQ(text.lines[2].text, "done");
  EXPECT_EQ(text.lines[3].text, "  File");
  EXPECT_EQ(text.lines[3].number, 5U);
}

TEST(PastedText, KeepsWhatOnlyLooksLikeAPrefix) {
  for (const char* line : {"OSError: libx.so: not found", "torch.cuda.OutOfMemoryError: CUDA out of memory",
                           "ptxas fatal   : x", "A100-SXM4 is a GPU", "C:\\Python\\a.py", "12 errors"})
    EXPECT_EQ(without_prefixes(line), line);
}

TEST(PastedText, OfAnEscapeAtTheEndIsWhole) {
  EXPECT_EQ(without_escapes("a\x1b"), "a");
  EXPECT_EQ(without_escapes("a\x1b[3"), "a");
  EXPECT_EQ(without_escapes("a\x1b]0;x"), "a");
}

TEST(PastedText, CutsLongLinesAndCountsThem) {
  const PastedText text = read_pasted(std::string(kLongestLine + 10, 'x') + "\nshort\n");
  EXPECT_EQ(text.cut_lines, 1U);
  EXPECT_EQ(text.lines[0].text.size(), kLongestLine);
}

TEST(PastedText, OfTooManyLinesKeepsTheLast) {
  std::string text;
  for (std::size_t i = 0; i < kMostLines + 5; ++i) text += "x\n";
  const PastedText pasted = read_pasted(text + "last");
  EXPECT_EQ(pasted.lines.back().text, "last");
  EXPECT_EQ(pasted.lines.back().number, kMostLines + 6);
  EXPECT_LE(pasted.lines.size(), kMostLines + 1);
  EXPECT_GT(pasted.left_out, 0U);
}

}  // namespace
}  // namespace flashfit::doctor::pasted
