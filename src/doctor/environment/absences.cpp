#include "doctor/environment/absences.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"

namespace flashfit::doctor::environment {
namespace {

std::string without_digits(std::string text) {
  std::erase_if(text, is_digit);
  return text;
}

/// "libavutil.so" and "56" of "libavutil.so.56".
std::pair<std::string, std::string> parts_of(const std::string& library) {
  constexpr std::string_view kEnding = ".so.";
  const std::size_t at = library.find(kEnding);
  if (at == std::string::npos) return {library, ""};
  return {library.substr(0, at + kEnding.size() - 1), library.substr(at + kEnding.size())};
}

/// Numbers by their size.
struct Lower {
  bool operator()(const std::string& a, const std::string& b) const {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  }
};
using Releases = std::set<std::string, Lower>;

/// Files that differ in their numbers alone, and the releases of one library that they ask for.
struct Family {
  std::set<std::string> members;
  Releases releases;
  bool has_a_file_for_each() const { return members.size() > 1 && releases.size() > 1; }
};

Problem one_for_each(const std::vector<Absence>& all) {
  std::map<std::string, Releases> libraries;
  const Absence* worst = &all.front();
  for (const Absence& one : all) {
    auto [library, release] = parts_of(one.library);
    libraries[printable(library)].insert(printable(release));
    if (one.severity >= worst->severity) worst = &one;
  }
  std::vector<std::string> texts;
  for (const auto& [library, releases] : libraries)
    texts.push_back(releases.size() == 1 ? fmt::format("{}.{}", library, *releases.begin())
                                         : fmt::format("{}.{} to {}", library, *releases.begin(), *releases.rbegin()));
  return {"FF601", worst->severity,
          fmt::format("has a file for each release of a library that it needs, of which one is to load, and no folder "
                      "that is searched has any: {}",
                      fmt::join(texts, ", ")),
          worst->member, fmt::format("the system's package that has one of {}", texts.front())};
}

}  // namespace

std::vector<Problem> absences(std::vector<Absence> all) {
  std::map<std::pair<std::string, std::string>, Family> families;
  const auto family_of = [&](const Absence& one) -> Family& {
    return families[{without_digits(one.member), parts_of(one.library).first}];
  };
  for (const Absence& one : all) {
    Family& family = family_of(one);
    family.members.insert(one.member);
    family.releases.insert(parts_of(one.library).second);
  }
  const auto alone = std::stable_partition(all.begin(), all.end(),
                                           [&](const Absence& one) { return family_of(one).has_a_file_for_each(); });
  std::vector<Problem> problems;
  if (alone != all.begin()) problems.push_back(one_for_each({all.begin(), alone}));
  for (auto one = alone; one != all.end(); ++one) {
    const std::string name = printable(one->library);
    problems.push_back({"FF601", one->severity, fmt::format("needs {}, which no folder that is searched has", name),
                        one->member, "the system's package that has " + name});
  }
  return problems;
}

}  // namespace flashfit::doctor::environment
