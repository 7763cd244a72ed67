#include "doctor/binaries/mach_o.hpp"

#include <gtest/gtest.h>

#include "doctor/made/bytes.hpp"

namespace flashfit::doctor {
namespace {

using namespace std::string_view_literals;

std::string machine(std::string_view text) {
  return std::string(mach_o_machine(std::as_bytes(std::span(text))).value_or("none"));
}

TEST(MachO, SaysItsMachine) {
  EXPECT_EQ(machine("\xcf\xfa\xed\xfe\x0c\0\0\x01"sv), "arm64");
  EXPECT_EQ(machine("\xcf\xfa\xed\xfe\x07\0\0\x01"sv), "x86_64");
  EXPECT_EQ(machine("\xfe\xed\xfa\xcf\x01\0\0\x0c"sv), "arm64") << "the other byte order";
  EXPECT_EQ(machine("\xce\xfa\xed\xfe\x07\0\0\0"sv), "another machine") << "32 bits";
}

TEST(MachO, OfTwoMachinesHasATable) {
  const auto entry = [](char machine) { return std::string("\x01\0\0"sv) + machine + std::string(16, '\0'); };
  const auto fat = [](char count, const std::string& entries) {
    return std::string("\xca\xfe\xba\xbe\0\0\0"sv) + count + entries;
  };
  EXPECT_EQ(machine(fat(2, entry(7) + entry(12))), "universal2");
  EXPECT_EQ(machine(fat(1, entry(12))), "arm64");
  EXPECT_EQ(machine(fat(44, entry(7))), "x86_64") << "entries beyond the bytes that are there are of no machine";
  EXPECT_EQ(machine(fat(0, "")), "none");
  EXPECT_EQ(machine(fat(52, entry(7))), "none") << "a class of Java 8";
}

TEST(MachO, IsNoneWhereTheHeaderEnds) {
  for (const std::string_view text : {""sv, "\xcf\xfa\xed\xfe"sv, "\xca\xfe\xba\xbe\0\0\0"sv,
                                      "\x7f"
                                      "ELF\x02\x01\x01\0"sv})
    EXPECT_EQ(machine(text), "none");
}

}  // namespace
}  // namespace flashfit::doctor
