// Texts made to take long, to take memory or to mislead.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>

#include "doctor/pasted/case.hpp"

namespace flashfit::doctor::pasted::test {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr double kMostSeconds = 15;
#else
constexpr double kMostSeconds = 1;
#endif

/// Of the processor, the least of three runs: programs on the same core or cache can only make a run longer.
double seconds_of(const std::string& text) {
  double least = HUGE_VAL;
  for (int i = 0; i < 3 && least > kMostSeconds / 2; ++i) {
    const std::clock_t start = std::clock();
    (void)diagnose(text);
    least = std::min(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return least;
}

std::string repeated(const std::string& line, std::size_t bytes = kLongestText) {
  std::string text;
  text.reserve(bytes + line.size());
  while (text.size() < bytes) text += line;
  return text;
}

TEST(HostileText, TakesLessThanASecond) {
  std::string all_literals;
  for (const ErrorClass* kind : error_classes())
    for (const Pattern& pattern : kind->patterns) all_literals += std::string(pattern.literal) + " ";
  const std::string texts[] = {
      repeated("\n"),
      repeated("x"),
      repeated("undefined symbol: "),
      repeated("a.so: undefined symbol: _ZN3c106SymIntE\n"),
      repeated(all_literals),
      repeated(all_literals + "\n"),
      repeated("  File \"/a/b.py\", line 1, in f\n"),
      repeated("Traceback (most recent call last):\n  File \"a\", line 1\nKeyError: 1\n"),
      repeated("\x1b[31m"),
      repeated("\x1b]"),
      repeated("\r"),
      repeated("2026-09-07T10:11:12Z "),
      repeated("2026-09-07T10:11:12Z [rank0]: web-1 | "),
      repeated("aaaaaaaa-1 aaaaaa.bbbb-2 cccc\n"),
      repeated("NVIDIA GeForce RTX 50900 Super Special Edition Of Nothing\n"),
      repeated("NVIDIA "),
      repeated("During handling of the above exception, another exception occurred\n"),
      repeated("Driver Version: 570.124.060606060606\n"),
      repeated("site-packages/"),
      repeated("torch 2.9.1 torchvision 0.23.0 xformers 0.0.32 torchaudio 2.9.1\n"),
      repeated("torch torch torch torch torch torch torch torch\n"),
      repeated("RTX 4090 NVIDIA GeForce GTX 1080 Ti\n"),
      repeated("requires compute capability requires compute capability\n"),
      repeated("SMEM overflow (56.75KB > 48KB limit)\n"),
  };
  for (const std::string& text : texts) EXPECT_LT(seconds_of(text), kMostSeconds) << text.substr(0, 60);
}

TEST(HostileText, OfRandomBytesIsNoError) {
  std::mt19937 random(20260907);
  for (int i = 0; i < 50; ++i) {
    std::string text(random() % 20'000, '\0');
    for (char& c : text) c = static_cast<char>(random());
    EXPECT_EQ(diagnose(text).error.kind, nullptr);
  }
}

TEST(HostileText, BeyondTheLimitKeepsItsEnd) {
  const std::string text =
      "RuntimeError: CUDA out of memory\n" + repeated("nothing here\n") + "OSError: x.so: invalid ELF header\n";
  const Diagnosis diagnosis = diagnose(text);
  ASSERT_NE(diagnosis.error.kind, nullptr);
  EXPECT_EQ(diagnosis.error.kind->name, "other-machine");
  EXPECT_GT(diagnosis.left_out, 0U);
  EXPECT_EQ(diagnosis.error.line, static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')));
}

TEST(HostileText, OfControlCharactersIsShownWithoutThem) {
  const Diagnosis diagnosis = diagnose("ImportError: /x/a\x07\x1b[2J.so: undefined symbol: f\x08oo\x9b\n");
  ASSERT_NE(diagnosis.error.kind, nullptr);
  std::string shown = diagnosis.error.text + diagnosis.mend;
  for (const std::string& line : diagnosis.concluded) shown += line;
  for (const RedHerring& herring : diagnosis.herrings) shown += herring.text + herring.why;
  for (const char c : shown) EXPECT_TRUE(c >= ' ' && c < '\x7f') << static_cast<int>(c);
}

TEST(HostileText, WithTooManyLikelyLinesSaysSo) {
  EXPECT_FALSE(diagnose(repeated("a.so: undefined symbol: f\n", 1 << 20)).whole);
  EXPECT_TRUE(diagnose("a.so: undefined symbol: f\n").whole);
}

}  // namespace
}  // namespace flashfit::doctor::pasted::test
