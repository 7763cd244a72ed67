// The tables themselves: every pattern compiles and is reached by its literal, every page is there.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "doctor/pasted/diagnosis.hpp"
#include "doctor/pasted/error_class.hpp"
#include "doctor/pasted/regex.hpp"
#include "doctor/pasted/text_template.hpp"

namespace flashfit::doctor::pasted {
namespace {

TEST(Tables, AreWhole) {
  std::set<std::string_view> names;
  for (const ErrorClass* kind : error_classes()) {
    EXPECT_TRUE(names.insert(kind->name).second) << kind->name;
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

/// "owner/repository#12, #13, owner/other#4": kinds that were seen in threads say where.
TEST(Tables, MostKindsNameTheirThread) {
  std::size_t with_thread = 0;
  for (const ErrorClass* kind : error_classes())
    if (Fields none; Regex(R"(\b[\w.-]+/[\w.-]+#\d+\b)").finds(kind->source, none)) ++with_thread;
  EXPECT_GE(with_thread, 125U);
}

/// "[a[b]]" would end at its first bracket: what is left of it would be shown.
TEST(Tables, SentencesHaveNoNestedBrackets) {
  for (const ErrorClass* kind : error_classes())
    for (const std::string_view text : {kind->concluded, kind->unknown, kind->mend, kind->ask, kind->subject})
      for (const Fields& fields : {Fields{}, Fields{{"bf16", "x"}, {"library", "x"}, {"why", "x"}, {"wanted", "x"}}}) {
        const std::string shown = filled(text, fields);
        EXPECT_EQ(std::count(shown.begin(), shown.end(), '['), std::count(shown.begin(), shown.end(), ']'))
            << kind->name << ": " << shown;
      }
}

/// What a consequence or a warning comes before in a text goes before it in the answer.
TEST(Tables, AnErrorGoesBeforeAWarningAndThatBeforeAConsequence) {
  const std::string warning = "warning: not compiled with GPU offload support, --n-gpu-layers option will be ignored\n";
  const std::string consequence = "RuntimeError: Error building extension 'fused_adam'\n";
  const std::string error = "OSError: x.so: invalid ELF header\n";
  EXPECT_EQ(diagnose(consequence + warning + error).error.kind->name, "other-machine");
  EXPECT_EQ(diagnose(consequence + warning).error.kind->name, "llama-cpp-cpu-build");
  EXPECT_EQ(diagnose(consequence).error.kind->name, "extension-not-built");
}

TEST(Templates, TakeFieldsAndLeaveOutWhatIsNotKnown) {
  const Fields fields = {{"a", "1"}, {"b", "\x1b[2J"}};
  EXPECT_EQ(filled("x {a}[ and {c}] y[ with {a}]", fields), "x 1 y with 1");
  EXPECT_EQ(filled("[{c}|{a}|z]", fields), "1");
  EXPECT_EQ(filled("[{c}|z]", fields), "z");
  EXPECT_EQ(filled("{c}", fields), "");
  EXPECT_EQ(filled("{b}", fields), "\\x1b[2J");
  EXPECT_EQ(filled("pip install 'jax[[cuda12]]'[ and {a}]", fields), "pip install 'jax[cuda12]' and 1");
}

}  // namespace
}  // namespace flashfit::doctor::pasted
