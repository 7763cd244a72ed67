// The words of a tag's refusal, and the names that Pythons and platforms go by. Which tags fit at all is held against
// packaging by packaging_test.py.
#include "doctor/packaging/tags.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flashfit::doctor {
namespace {

using testing::HasSubstr;

std::string verdict(const char* tags, const char* python = "3.11", const char* platform = "manylinux_2_31_x86_64") {
  return judge(parse_tags(tags).value(), {parse_python(python).value(), parse_platform(platform).value()}).reason;
}

TEST(Tags, RefusalsNameThePartThatDoesNotFit) {
  EXPECT_EQ(verdict("cp310-cp310-linux_x86_64"), "cp310 is not your cp311; the platform fits");
  EXPECT_EQ(verdict("cp311-cp311-manylinux_2_34_x86_64"),
            "manylinux_2_34_x86_64 needs glibc 2.34; this system has 2.31; the Python fits");
  EXPECT_EQ(verdict("cp310-cp310-win_amd64"),
            "cp310 is not your cp311; win_amd64 is for Windows, not your Linux with glibc");
  EXPECT_EQ(verdict("cp311-cp311-linux_aarch64"), "aarch64 is not your x86_64; the Python fits");
  EXPECT_EQ(verdict("cp312-abi3-linux_x86_64"),
            "cp312-abi3 needs Python 3.12 or later; yours is 3.11; the platform fits");
  EXPECT_EQ(verdict("cp39-abi3-linux_x86_64", "3.13t"),
            "abi3 is for ordinary CPython; yours is free-threaded CPython 3.13; the platform fits");
  EXPECT_EQ(verdict("cp313-cp313-linux_x86_64", "3.13t"), "cp313 is not your cp313t; the platform fits");
  EXPECT_EQ(verdict("py312-none-any"), "py312 needs Python 3.12 or later; yours is 3.11; the platform fits");
  EXPECT_EQ(verdict("py2-none-any"), "py2 is not your cp311; the platform fits");
  EXPECT_EQ(verdict("py3-none-musllinux_1_2_x86_64"),
            "musllinux_1_2_x86_64 is for Linux with musl, not your Linux with glibc; the Python fits");
  EXPECT_EQ(verdict("py3-none-musllinux_1_2_x86_64", "3.11", "musllinux_1_1_x86_64"),
            "musllinux_1_2_x86_64 needs musl 1.2; this system has 1.1; the Python fits");
  EXPECT_EQ(verdict("py3-none-macosx_15_0_arm64", "3.11", "macosx_14_0_arm64"),
            "macosx_15_0_arm64 needs macOS 15.0; this system has 14.0; the Python fits");
  EXPECT_THAT(verdict("py3-none-plan9_x86"), HasSubstr("is not a platform of Linux, Windows or macOS"));
  EXPECT_THAT(verdict("py3-none-manylinux_2_3_x86_64"), HasSubstr("is not a tag that installers know"));
}

TEST(Tags, OfACompressedSetTheNearestSpeaks) {
  EXPECT_EQ(verdict("cp39.cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64"),
            "cp310 is not your cp311; the platform fits");
  EXPECT_EQ(verdict("py3-none-manylinux_2_40_x86_64.win_amd64.manylinux_2_34_x86_64"),
            "manylinux_2_34_x86_64 needs glibc 2.34; this system has 2.31; the Python fits");
}

TEST(Tags, SayWhatWouldFit) {
  const auto wanted = [](const char* python, const char* platform) {
    return judge(parse_tags("cp20-cp20-any").value(), {parse_python(python).value(), parse_platform(platform).value()})
        .wanted;
  };
  EXPECT_EQ(wanted("3.11", "manylinux_2_31_x86_64"),
            "cp311-cp311, abi3 of cp311 or older, or py3-none, for Linux x86_64 with glibc 2.31");
  EXPECT_EQ(wanted("3.13t", "win_amd64"), "cp313-cp313t, abi3t of cp313 or older, or py3-none, for Windows amd64");
  EXPECT_EQ(wanted("pypy310_pp73", "linux_x86_64"), "pypy310_pp73 or py3-none, for Linux x86_64 with glibc");
}

TEST(Tags, AnUnknownGlibcRefusesNone) {
  EXPECT_EQ(verdict("py3-none-manylinux_2_39_x86_64", "3.11", "linux_x86_64"), "");
  EXPECT_NE(verdict("py3-none-manylinux_2_4_x86_64", "3.11", "linux_x86_64"), "");
}

TEST(Python, GoesByManyNames) {
  for (const char* name :
       {"3.11", "cp311", "CP311", "3.11.0", "python3.11", "cpython 3.11", "311", "py311", "3.11.0rc1"}) {
    const auto python = parse_python(name);
    ASSERT_TRUE(python) << name;
    EXPECT_EQ(python->tag() + python->abi_tag() + python->str(), "cp311cp311CPython 3.11") << name;
  }
  EXPECT_EQ(parse_python("cp313t")->abi_tag(), "cp313t");
  EXPECT_EQ(parse_python("3.7")->abi_tag(), "cp37m");
  EXPECT_EQ(parse_python("pp310")->str(), "PyPy 3.10");
  EXPECT_EQ(parse_python("3.11.4")->version, "3.11.4");
  for (const char* name : {"", "3", "2.7", "4.0", "3.100", "3.12t", "pp313t", "3.11+a", "1!3.11", "x", "3.11 3.12",
                           "pypy310_pp\x1b", "\x1b"}) {
    const auto python = parse_python(name);
    ASSERT_FALSE(python) << name;
    EXPECT_THAT(python.error().message, HasSubstr("accepted: a version such as 3.11"));
  }
}

TEST(Platform, GoesByItsTagsAndTakesAGlibc) {
  EXPECT_EQ(with_glibc(parse_platform("linux_x86_64").value(), "2.31")->str(), "Linux x86_64 with glibc 2.31");
  EXPECT_EQ(parse_platform("manylinux2014_aarch64")->str(), "Linux aarch64 with glibc 2.17");
  EXPECT_EQ(parse_platform("win32")->str(), "Windows x86");
  EXPECT_EQ(parse_platform("macosx_14_0_arm64")->str(), "macOS 14.0 arm64");
  for (const char* name :
       {"", "linux", "linux_", "any", "manylinux_2_x86_64", "manylinux_2_1_x86_64", "x86_64", "linux_\x1b"})
    EXPECT_FALSE(parse_platform(name)) << name;
  for (const char* version : {"", "2", "2.", "1.9", "x.y", "2.99999", "-2.3"})
    EXPECT_FALSE(with_glibc(parse_platform("linux_x86_64").value(), version)) << version;
  EXPECT_THAT(with_glibc(parse_platform("win_amd64").value(), "2.31").error().message,
              HasSubstr("Windows amd64 has no glibc"));
}

}  // namespace
}  // namespace flashfit::doctor
