// Every case as it was pasted, behind every kind of log prefix, and cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "doctor/pasted/case.hpp"

namespace flashfit::doctor::pasted::test {
namespace {

using testing::IsEmpty;

std::string joined(const std::vector<std::string>& lines, const std::string& prefix, const std::string& end) {
  std::string all;
  for (const std::string& line : lines) all.append(prefix).append(line).append(end);
  return all;
}

std::string name_of(const Diagnosis& diagnosis) {
  return std::string(diagnosis.error.kind == nullptr ? "none" : diagnosis.error.kind->name);
}

TEST(Cases, AreToldWhole) {
  const auto cases = all_cases();
  ASSERT_GE(cases.size(), 250U);
  for (const Case& one : cases) EXPECT_THAT(disappointments(one, diagnose(one.text())), IsEmpty()) << one.name;
}

TEST(Cases, AreToldBehindLogPrefixes) {
  const char* const prefixes[] = {
      "2026-09-07T10:11:12.1234567Z ",                      // GitHub Actions, docker logs -t
      "2026-09-07 10:11:12,123 ",                           // Python's logging
      "[rank3]: ",                                          // torchrun
      "Sep  7 10:11:12 gpu-host python3[4711]: ",           // journalctl
      "2026-09-07T10:11:12.123456789Z stderr F ",           // Kubernetes
      "web-1  | ",                                          // docker compose
      "#12 3.456 ",                                         // BuildKit
      "(EngineCore_DP0 pid=8146) ",                         // vLLM
      "(raylet pid=99, ip=10.0.0.7) ",                      // ray
      "ERROR 09-07 10:11:12 [core.py:708] ",                // vLLM's logger
      "E0907 10:11:12.123000 4711 torch/a.py:138] [0/0] ",  // torch.distributed
      "[1,0]<stderr>:",                                     // mpirun
      "> ",                                                 // a quote
      "\xe2\x94\x82 ",                                      // a box
      "2026-09-07T10:11:12Z web-1  | [rank0]: ",            // three at once
      "\x1b[31m2026-09-07 10:11:12\x1b[0m ",                // colours
  };
  for (const Case& one : all_cases())
    for (const char* const prefix : prefixes)
      EXPECT_THAT(disappointments(one, diagnose(joined(one.lines, prefix, "\n"))), IsEmpty())
          << one.name << " behind '" << prefix << "'";
}

TEST(Cases, AreToldInColoursAndWithOtherLineEnds) {
  for (const Case& one : all_cases()) {
    EXPECT_THAT(disappointments(one, diagnose(joined(one.lines, "", "\r\n"))), IsEmpty()) << one.name;
    EXPECT_THAT(disappointments(one, diagnose(joined(one.lines, "\x1b[1;31m", "\x1b[0m\n"))), IsEmpty()) << one.name;
    EXPECT_THAT(disappointments(one, diagnose(joined(one.lines, " 42%|####    |\r", "\n"))), IsEmpty()) << one.name;
  }
}

/// Number of the decisive line in `lines`.
std::size_t decisive(const Case& one) { return diagnose(one.text()).error.line - 1; }

TEST(Cases, AreToldFromTheDecisiveLineOn) {
  for (const Case& one : all_cases()) {
    if (one.value("class") == "none") continue;
    const std::vector<std::string> rest(one.lines.begin() + static_cast<std::ptrdiff_t>(decisive(one)),
                                        one.lines.end());
    const Diagnosis whole = diagnose(one.text()), cut = diagnose(joined(rest, "", "\n"));
    EXPECT_EQ(name_of(cut), one.value("class")) << one.name;
    EXPECT_EQ(cut.error.fields, whole.error.fields) << one.name;
    EXPECT_EQ(cut.error.line, 1U) << one.name;
  }
}

TEST(Cases, AreToldUpToTheDecisiveLine) {
  for (const Case& one : all_cases()) {
    if (one.value("class") == "none") continue;
    const std::vector<std::string> top(one.lines.begin(),
                                       one.lines.begin() + static_cast<std::ptrdiff_t>(decisive(one)) + 1);
    const Diagnosis whole = diagnose(one.text()), cut = diagnose(joined(top, "", "\n"));
    EXPECT_EQ(name_of(cut), one.value("class")) << one.name;
    for (const auto& [name, value] : cut.error.fields) EXPECT_EQ(whole.error.fields.at(name), value) << one.name;
  }
}

TEST(Cases, AreNotToldWithoutTheirDecisiveLines) {
  for (const Case& one : all_cases()) {
    if (one.value("class") == "none") continue;
    const std::vector<std::string> top(one.lines.begin(),
                                       one.lines.begin() + static_cast<std::ptrdiff_t>(decisive(one)));
    EXPECT_NE(name_of(diagnose(joined(top, "", "\n"))), one.value("class")) << one.name;
  }
}

TEST(Cases, ThereIsOneForEachKindThatTheTablesKnow) {
  std::set<std::string> with_case;
  for (const Case& one : all_cases()) with_case.insert(one.value("class"));
  for (const ErrorClass* kind : error_classes()) EXPECT_TRUE(with_case.contains(std::string(kind->name))) << kind->name;
}

TEST(Cases, ATracebackThatEndsBeforeItsExceptionSaysSo) {
  const Diagnosis cut = diagnose("Traceback (most recent call last):\n  File \"/app/a.py\", line 3, in f\n    g()\n");
  EXPECT_TRUE(cut.ends_early);
  EXPECT_EQ(cut.error.kind, nullptr);
  EXPECT_FALSE(
      diagnose("Traceback (most recent call last):\n  File \"/app/a.py\", line 3, in f\n    g()\nKeyError: 1\n")
          .ends_early);
}

}  // namespace
}  // namespace flashfit::doctor::pasted::test
