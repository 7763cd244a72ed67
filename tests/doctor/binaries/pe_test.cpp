#include "doctor/binaries/pe.hpp"

#include <gtest/gtest.h>

#include "doctor/made/pe.hpp"

namespace flashfit::doctor {
namespace {

TEST(Pe, SaysWhatItImports) {
  const auto bytes = test::make_dll();
  const auto pe = read_pe(MemorySource(bytes));
  ASSERT_TRUE(pe.has_value()) << pe.error().message;
  EXPECT_EQ(pe->machine, kPeX86_64);
  EXPECT_TRUE(pe->library);
  ASSERT_EQ(pe->sections.size(), 2U);
  EXPECT_EQ(pe->sections[1].name, ".nv_fatb");
  ASSERT_EQ(pe->imports.size(), 2U);
  EXPECT_EQ(pe->imports[0].library, "a.dll");
  EXPECT_EQ(pe->imports[0].functions, (std::vector<std::string>{"one", "#7"}));
  EXPECT_FALSE(pe->imports[0].delayed);
  EXPECT_EQ(pe->imports[1].library, "b.dll");
  EXPECT_EQ(pe->imports[1].functions, std::vector<std::string>{"two"});
  EXPECT_TRUE(pe->imports[1].delayed);
}

TEST(Pe, LiesAreNamed) {
  const auto error_with = [](std::size_t at, std::uint8_t value) {
    auto bytes = test::make_dll();
    bytes.at(at) = static_cast<std::byte>(value);
    const auto pe = read_pe(MemorySource(bytes));
    return pe ? "no error" : pe.error().message;
  };
  EXPECT_EQ(error_with(0, 0), "malformed: PE file's first header at 0");
  EXPECT_EQ(error_with(63, 1), "malformed: PE header outside the file at 16777280");
  EXPECT_EQ(error_with(88, 0x0a), "malformed: PE file that is not 64-bit at 88");
  EXPECT_EQ(error_with(71, 2), "malformed: number of PE sections beyond the limit of 256 at 328");
  EXPECT_EQ(error_with(0x400 + 0x0e, 9), "malformed: name of a PE import at 594112");
  EXPECT_EQ(error_with(0x400 + 2, 9), "malformed: functions of a PE import at 594048");
}

}  // namespace
}  // namespace flashfit::doctor
