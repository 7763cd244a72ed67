// Prints what the loader's model says of a process, for real_loader_test.py:
//   dynamic_loader_list [--library-path LIST] [--preload LIST] [--root FOLDER] [--cwd FOLDER] PROGRAM [[BY=]NAME...]
// starts PROGRAM ("-": none) and opens each NAME, by the object whose file BY is. Lines:
//   object PATH          in the order of loading
//   missing NAME BY      of what was not found
//   problem CODE MEMBER MESSAGE
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "doctor/dynamic_loader/problems.hpp"
#include "doctor/dynamic_loader/process.hpp"
#include "doctor/dynamic_loader/real_tree.hpp"

int main(int argc, char** argv) {
  using namespace flashfit::doctor::dynamic_loader;
  LoaderView view;
  std::string root = "/";
  std::vector<std::string> words(argv + 1, argv + argc);
  while (words.size() > 1 && words[0].starts_with("--")) {
    (words[0] == "--library-path" ? view.library_path
     : words[0] == "--preload"    ? view.preload
     : words[0] == "--cwd"        ? view.current_folder
                                  : root) = words[1];
    words.erase(words.begin(), words.begin() + 2);
  }
  if (words.empty()) return 2;
  const RealTree tree(root);
  Process process(tree, view);
  if (words[0] != "-") process.start(words[0]);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string by = equals == std::string::npos ? "" : words[i].substr(0, equals);
    const int object = process.open(words[i].substr(equals == std::string::npos ? 0 : equals + 1),
                                    by.empty() ? kNobody : process.plan().find(by));
    if (object != kNobody) process.look_for_named(object);
  }
  const LoadPlan& plan = process.plan();
  for (const LoadedObject& object : plan.objects) fmt::print("object {}\n", object.found.path);
  for (const LoadRequest& asked : plan.requests)
    if (asked.object == kNobody && !asked.by_string)
      fmt::print("missing {} {}\n", asked.name, asked.asked_by == kNobody ? "-" : plan.short_name(asked.asked_by));
  for (const auto& problem : loader_problems(plan))
    fmt::print("problem {} {} {}\n", problem.code, problem.member.empty() ? "-" : problem.member, problem.message);
  return 0;
}
