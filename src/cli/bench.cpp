// flashfit bench: the cases of bench/cases/forward.json, checked and timed on what this machine has.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "bench/cases.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"

namespace flashfit::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Bench {
  std::vector<std::string> groups;
  std::string filter;
  bool list = false;
  CLI::Option* json = nullptr;
  std::string json_file;
};

/// The cases of the groups whose name holds the filter.
std::vector<bench::Case> chosen(const Bench& b) {
  const Result<std::vector<bench::Case>> all = bench::expand_cases(bench::case_list());
  if (!all) wrong(all.error().message);
  std::string names;
  std::set<std::string> known;
  for (const bench::Case& c : *all)
    if (known.insert(c.group).second) names += (names.empty() ? "" : ", ") + c.group;
  for (const std::string& group : b.groups)
    if (!known.contains(group)) wrong("--group", group, "must be one of " + names);
  std::vector<bench::Case> cases;
  for (const bench::Case& c : *all) {
    const bool in_group = b.groups.empty() || std::find(b.groups.begin(), b.groups.end(), c.group) != b.groups.end();
    if (in_group && c.name.find(b.filter) != std::string::npos) cases.push_back(c);
  }
  if (cases.empty()) wrong("--filter", b.filter, "is in no case's name; see flashfit bench --list");
  return cases;
}

int list(const Bench& b) {
  const std::vector<bench::Case> cases = chosen(b);
  if (!b.json_file.empty()) wrong("--json", b.json_file, "takes no file with --list: the list goes to standard output");
  Json objects = Json::array();
  for (const bench::Case& c : cases) {
    if (b.json->count() > 0)
      objects.push_back(json_of(c));
    else
      fmt::print("{}\n", c.name);
  }
  if (b.json->count() > 0) fmt::print("{}\n", objects.dump(1));
  return kOk;
}

}  // namespace

void add_bench(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand("bench", "Checks and times the list of cases on this machine.");
  const auto b = std::make_shared<Bench>();
  command->add_option("--group", b->groups, "cases of this group alone; may be repeated")
      ->type_name("NAME")
      ->take_all()
      ->expected(1);
  command->add_option("--filter", b->filter, "cases whose name holds this text")->type_name("TEXT");
  command->add_flag("--list", b->list, "print the cases, measure nothing");
  b->json = command->add_option("--json", b->json_file, "the result file (docs/results.md); with --list: objects")
                ->type_name("FILE")
                ->expected(0, 1);
  command->callback([b, &status] { status = list(*b); });
}

}  // namespace flashfit::cli
