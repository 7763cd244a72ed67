#pragma once
// One check on one target, as lines to compare.
#include <string>
#include <vector>

#include "doctor/packaging/metadata.hpp"
#include "doctor/rules/checks.hpp"

namespace flashfit::doctor::test {

/// "FF320 misfit MESSAGE" of each problem that the check adds.
inline std::vector<std::string> judged(Check check, const Target& target, const Question& question = {}) {
  std::vector<Problem> problems;
  check(target, question, problems);
  std::vector<std::string> lines;
  for (const Problem& problem : problems)
    lines.push_back(problem.code + " " + name_of(verdict_of(problem.severity)) + " " + problem.message);
  return lines;
}

inline Question on_platform(const std::string& platform) {
  Question question;
  question.platform = parse_platform(platform).value();
  return question;
}

inline Question on_python(const std::string& python) {
  Question question;
  question.python = parse_python(python).value();
  return question;
}

/// A wheel of these libraries.
inline Target wheel_target(const std::string& file_name, std::vector<Binary> binaries) {
  return {.target = file_name, .file_name = file_name, .kind = TargetKind::kWheel, .binaries = std::move(binaries)};
}

}  // namespace flashfit::doctor::test
