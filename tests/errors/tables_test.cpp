// The tables themselves: every pattern compiles and is reached by its literal, every page is there.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "errors/error_class.hpp"
#include "errors/regex.hpp"
#include "errors/text_template.hpp"

namespace flashfit::errors {
namespace {

TEST(Tables, AreWhole) {
  std::set<std::string_view> names;
  std::set<std::string_view> codes;
  for (const ErrorClass* kind : error_classes()) {
    EXPECT_TRUE(names.insert(kind->name).second) << kind->name;
    EXPECT_TRUE(codes.insert(kind->code).second) << kind->code;
    EXPECT_FALSE(kind->title.empty() || kind->concluded.empty() || kind->source.empty()) << kind->name;
    EXPECT_TRUE(kind->proof == Proof::kText || std::size(kind->explained_by) != 0 || !kind->ask.empty())
        << kind->name << ": nothing can prove it";
    EXPECT_FALSE(std::empty(kind->patterns)) << kind->name;
    EXPECT_EQ(find_class(kind->name), kind);
    for (const Pattern& pattern : kind->patterns) {
      EXPECT_GE(pattern.literal.size(), 5U) << kind->name;
      EXPECT_NO_THROW(Regex(pattern.regex)) << kind->name;
    }
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(FLASHFIT_DOCS) / (std::string(kind->code) + ".md")))
        << kind->code;
  }
  EXPECT_EQ(find_class("no-such-kind"), nullptr);
}

TEST(Templates, TakeFieldsAndLeaveOutWhatIsNotKnown) {
  const Fields fields = {{"a", "1"}, {"b", "\x1b[2J"}};
  EXPECT_EQ(filled("x {a}[ and {c}] y[ with {a}]", fields), "x 1 y with 1");
  EXPECT_EQ(filled("[{c}|{a}|z]", fields), "1");
  EXPECT_EQ(filled("[{c}|z]", fields), "z");
  EXPECT_EQ(filled("{c}", fields), "");
  EXPECT_EQ(filled("{b}", fields), "\\x1b[2J");
}

}  // namespace
}  // namespace flashfit::errors
