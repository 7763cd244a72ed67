#include "doctor/pasted/case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace flashfit::doctor::pasted::test {
namespace {

Case read_case(const std::filesystem::path& path) {
  Case one{.name = path.filename().string()};
  std::ifstream file(path);
  bool pasted = false;
  for (std::string line; std::getline(file, line);) {
    if (pasted) {
      one.lines.push_back(line);
    } else if (line == "---") {
      pasted = true;
    } else {
      const std::size_t colon = line.find(": ");
      one.expected.emplace_back(line.substr(0, colon), colon == std::string::npos ? "" : line.substr(colon + 2));
    }
  }
  return one;
}

bool holds(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

doctor::Question question_of(const Case& one, const Diagnosis& diagnosis) {
  doctor::Question question;
  if (const std::string gpu = one.value("gpu"); !gpu.empty()) {
    question.gpus.push_back({gpu, name_gpu(gpu).value()});
  } else if (diagnosis.named.gpu) {
    question.gpus.push_back({diagnosis.named.gpu->name, *diagnosis.named.gpu});
  }
  return question;
}

bool is_named(const NamedInText& named, const std::string& what, const std::string& value) {
  if (what == "gpu") return named.gpu && named.gpu->name == value;
  if (what == "python") return named.python && named.python->version == value;
  if (what == "driver") return named.driver == value;
  if (what == "torch") return named.torch == value;
  return what == "packages" && std::find(named.packages.begin(), named.packages.end(), value) != named.packages.end();
}

bool has_other(const Diagnosis& diagnosis, const std::string& kind) {
  if (kind == "none") return diagnosis.others.empty();
  return std::any_of(diagnosis.others.begin(), diagnosis.others.end(),
                     [&](const Finding& other) { return other.kind->name == kind; });
}

bool is_so(const std::string& key, const std::string& value, const Diagnosis& d, const doctor::Question& question) {
  const std::size_t space = key.find(' ');
  const std::string word = key.substr(0, space), of = space == std::string::npos ? "" : key.substr(space + 1);
  if (word == "class") return value == (d.error.kind == nullptr ? "none" : d.error.kind->name);
  if (word == "field") return d.error.fields.contains(of) && d.error.fields.at(of) == value;
  if (word == "herring" || word == "gpu" || word == "from") return true;  // herrings: all at once
  if (word == "fact") {
    const auto facts = named_facts(d, question);
    return std::any_of(facts.begin(), facts.end(),
                       [&](const NamedFact& fact) { return fact.line.find(value) != std::string::npos; });
  }
  if (word == "named") return is_named(d.named, of, value);
  if (word == "concluded") return holds(d.concluded, value);
  if (word == "unknown") return holds(d.unknown, value);
  if (word == "mend") return d.mend.find(value) != std::string::npos;
  if (word == "also") return has_other(d, value);
  if (word == "refuted") return remarks(d, question).refuted;
  if (word == "remark") return holds(remarks(d, question).lines, value);
  if (word == "exception") return std::to_string(d.exception_line) == of && d.exception == value;
  return word == "raised" && d.raised_in == value;
}

}  // namespace

std::string Case::text() const {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

std::string Case::value(const std::string& key) const {
  for (const auto& [name, value] : expected)
    if (name == key) return value;
  return "";
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& entry : std::filesystem::directory_iterator(FLASHFIT_CASES)) all.push_back(read_case(entry.path()));
  std::sort(all.begin(), all.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  return all;
}

std::vector<std::string> disappointments(const Case& one, const Diagnosis& diagnosis) {
  std::vector<std::string> wrong;
  const doctor::Question question = question_of(one, diagnosis);
  std::vector<std::string> herrings, found;
  for (const auto& [key, value] : one.expected) {
    if (key.starts_with("herring ")) herrings.push_back(key.substr(8) + ": " + value);
    if (!is_so(key, value, diagnosis, question)) wrong.push_back(fmt::format("{}: {}", key, value));
  }
  for (const RedHerring& herring : diagnosis.herrings)
    found.push_back(fmt::format("{}: {}", herring.line, herring.text));
  if (herrings != found)
    wrong.push_back(fmt::format("herrings: {} instead of {}", fmt::join(found, "; "), fmt::join(herrings, "; ")));
  return wrong;
}

}  // namespace flashfit::doctor::pasted::test
