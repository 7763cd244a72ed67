#include "measure/cases.hpp"

#include <fmt/format.h>

#include <set>

#include "measure/case_entry.hpp"
#include "measure/case_rules.hpp"

namespace flashfit::measure {
namespace {

using Json = nlohmann::ordered_json;

/// An entry with lists as values stands for every combination; the last list varies fastest.
std::vector<Json> combinations(const Json& entry) {
  std::vector<Json> all{Json::object()};
  for (const auto& [key, value] : entry.items()) {
    const bool axis = value.is_array() && !takes_a_list(key);
    std::vector<Json> grown;
    for (const Json& one : all) {
      for (const Json& choice : axis ? value : Json::array({value})) {
        grown.push_back(one);
        grown.back()[key] = choice;
      }
    }
    all = std::move(grown);
  }
  return all;
}

std::vector<Case> expand_entry(const Json& entry, const Json& group) {
  const auto name = group.at("name").get<std::string>();
  std::vector<Case> cases;
  if (entry.contains("random")) {
    const RandomKinds kinds{entry.value("options", false), entry.value("planted", false)};
    cases = random_cases(entry.at("random"), entry.at("seed"), kinds);
    const char* const mark = kinds.planted ? "p" : kinds.options ? "o" : "";
    for (std::size_t i = 0; i < cases.size(); ++i)
      name_case(cases[i], name, {{"label", fmt::format("{}{:03}", mark, i)}});
  } else {
    for (const Json& one : combinations(entry)) {
      cases.push_back(read_case(one));
      name_case(cases.back(), name, one);
    }
  }
  for (Case& c : cases) {
    c.stands_for = entry.value("stands_for", group.at("stands_for").get<std::string>());
    c.timed = group.value("timed", true);
  }
  return cases;
}

}  // namespace

Result<std::vector<Case>> expand_cases(std::string_view json) {
  const auto wrong = [](const std::string& what) { return fail(Code::kInvalidArgument, "the list of cases: " + what); };
  std::string where = "the text";
  try {
    const Json list = Json::parse(json);
    std::vector<Case> all;
    std::set<std::string> names;
    for (const Json& group : list.at("groups")) {
      int number = 0;
      for (const Json& entry : group.at("cases")) {
        where = fmt::format("group {}, entry {}", group.at("name").get<std::string>(), ++number);
        for (Case& c : expand_entry(entry, group)) {
          if (!names.insert(c.name).second) throw CaseMistake(fmt::format("a second case is called '{}'", c.name));
          all.push_back(std::move(c));
        }
      }
    }
    return all;
  } catch (const CaseMistake& mistake) {
    return wrong(fmt::format("{}: {}", where, mistake.what()));
  } catch (const Json::exception& error) {
    return wrong(fmt::format("{}: {}", where, error.what()));
  }
}

}  // namespace flashfit::measure
