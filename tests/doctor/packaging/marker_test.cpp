#include "doctor/packaging/marker.hpp"

#include <gtest/gtest.h>

namespace flashfit::doctor {
namespace {

std::optional<bool> holds(std::string_view marker, const char* python = "3.11.4",
                          const char* platform = "linux_x86_64") {
  return marker_holds(marker, {parse_python(python).value(), parse_platform(platform).value()});
}

TEST(Marker, ComparesVersionsAndTexts) {
  EXPECT_EQ(holds(""), true);
  EXPECT_EQ(holds("python_version < '3.12'"), true);
  EXPECT_EQ(holds("python_version >= \"3.9\""), true) << "3.9 is older than 3.11";
  EXPECT_EQ(holds("python_full_version == '3.11.4'"), true);
  EXPECT_EQ(holds("python_version == '3.10'"), false);
  EXPECT_EQ(holds("sys_platform == 'linux'"), true);
  EXPECT_EQ(holds("platform_system != \"Linux\""), false);
  EXPECT_EQ(holds("platform_machine == 'AMD64'", "3.11", "win_amd64"), true);
  EXPECT_EQ(holds("platform_python_implementation == 'PyPy'", "pp310"), true);
  EXPECT_EQ(holds("'linux' in sys_platform"), true);
  EXPECT_EQ(holds("sys_platform not in 'win32,darwin'"), true);
  EXPECT_EQ(holds("extra == 'gpu'"), false) << "none is asked for";
}

TEST(Marker, JoinsThem) {
  EXPECT_EQ(holds("platform_system == 'Linux' and platform_machine == 'x86_64'"), true);
  EXPECT_EQ(holds("platform_system == 'Linux' and platform_machine == 'aarch64'"), false);
  EXPECT_EQ(holds("os_name == 'nt' and os_name == 'nt' or os_name == 'posix'"), true);
  EXPECT_EQ(holds("os_name == 'posix' or os_name == 'nt' and os_name == 'nt'"), true);
  EXPECT_EQ(holds("(os_name == 'posix' or os_name == 'nt') and os_name == 'nt'"), false);
  EXPECT_EQ(holds("((os_name == 'posix'))"), true);
}

TEST(Marker, WhatIsUnknownDecidesOnlyWhereItMust) {
  EXPECT_EQ(holds("platform_release > '5'"), std::nullopt);
  EXPECT_EQ(holds("platform_release > '5' or os_name == 'posix'"), true);
  EXPECT_EQ(holds("platform_release > '5' and os_name == 'nt'"), false);
  EXPECT_EQ(holds("platform_release > '5' and os_name == 'posix'"), std::nullopt);
  EXPECT_EQ(marker_holds("os_name == 'posix'", {}), std::nullopt);
}

TEST(Marker, WhatIsNoneIsUnknown) {
  for (const char* text :
       {"os_name", "os_name ==", "== 'x'", "(os_name == 'posix'", "os_name == 'posix')", "os_name == 'posix' and",
        "and os_name == 'posix'", "os_name == 'posix' 'x'", "os_name = 'posix", "()", ")", "os_name not 'x'", "%"})
    EXPECT_EQ(holds(text), std::nullopt) << text;
  EXPECT_EQ(holds(std::string(5000, '(')), std::nullopt);
}

TEST(Marker, IsToldFromWhatIsNone) {
  for (const char* text : {"python_version < '3.12'", "extra == 'gpu'", "platform_release ~= '5.1'",
                           "'linux' in sys_platform", "os.name == 'posix'",
                           "sys_platform not in 'a, b' or (python_version>='3.8'and os_name===\"nt\")", "'a' == 'b'"})
    EXPECT_TRUE(is_marker(text)) << text;
  for (const char* text : {"foo bar", "python_version", "", "foo == 'x'", "python_version => '3'", "python_version <",
                           "os_name == 'posix' and", "(os_name == 'posix'", "os_name == posix"})
    EXPECT_FALSE(is_marker(text)) << text;
}

}  // namespace
}  // namespace flashfit::doctor
