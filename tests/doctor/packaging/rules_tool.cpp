// Asks the rules of src/doctor/packaging from a pipe, so that packaging_test.py can hold them against Python's own
// packaging library. One question a line, fields between tabs; one answer a line.
//   fits PYTHON PLATFORM WHEEL      yes | no
//   name WHEEL                      NAME VERSION BUILD TAGS | refused
//   accepts SPECIFIERS VERSION      yes | no | refused
//   compare VERSION VERSION         < | = | > | refused
#include <iostream>
#include <string>

#include "core/base/ascii.hpp"
#include "doctor/packaging/specifier.hpp"
#include "doctor/packaging/tags.hpp"
#include "doctor/packaging/wheel_name.hpp"

namespace flashfit::doctor {
namespace {

std::string fits(const std::string& python, const std::string& platform, const std::string& wheel) {
  const auto p = parse_python(python);
  const auto on = parse_platform(platform);
  const auto name = parse_wheel_name(wheel);
  if (!p || !on || !name) return "refused";
  const TagVerdict verdict = judge(name->tags, {*p, *on});
  if (verdict.fits != (verdict.reason.empty() && verdict.wanted.empty())) return "contradicts itself";
  return verdict.fits ? "yes" : "no";
}

std::string name(const std::string& wheel) {
  const auto parsed = parse_wheel_name(wheel);
  if (!parsed) return "refused";
  std::string out = parsed->name;
  out.append("\t").append(parsed->version.text).append("\t").append(parsed->build);
  for (const WheelTag& tag : parsed->tags) out.append("\t").append(tag.str());
  return out;
}

std::string accepts(const std::string& specifiers, const std::string& version) {
  const auto clauses = parse_specifiers(specifiers);
  const auto v = parse_version(version);
  if (!clauses || !v) return "refused";
  return refusing(*clauses, *v) == nullptr ? "yes" : "no";
}

std::string compare(const std::string& a, const std::string& b) {
  const auto left = parse_version(a), right = parse_version(b);
  if (!left || !right) return "refused";
  return *left < *right ? "<" : *left > *right ? ">" : "=";
}

std::string answer(const std::string& line) {
  std::vector<std::string> words;
  for (const std::string_view word : split(line, '\t')) words.emplace_back(word);
  if (words[0] == "fits" && words.size() == 4) return fits(words[1], words[2], words[3]);
  if (words[0] == "name" && words.size() == 2) return name(words[1]);
  if (words[0] == "accepts" && words.size() == 3) return accepts(words[1], words[2]);
  if (words[0] == "compare" && words.size() == 3) return compare(words[1], words[2]);
  return "not a question";
}

}  // namespace
}  // namespace flashfit::doctor

int main() {
  for (std::string line; std::getline(std::cin, line);) std::cout << flashfit::doctor::answer(line) << "\n";
}
