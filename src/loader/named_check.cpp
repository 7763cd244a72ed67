// Libraries that are opened by a name in a library's data: FF606, FF607.
#include <algorithm>

#include "inspect/printable.hpp"
#include "loader/all_problems.hpp"

namespace flashfit::loader {
namespace {

using inspect::printable;

/// What the dlopen would give; null: nothing.
const Candidate* answer_of(const LoadPlan& plan, const LoadRequest& asked) {
  if (asked.object != kNobody) return &plan.objects[static_cast<std::size_t>(asked.object)].found;
  const auto first = std::find_if(asked.candidates.begin(), asked.candidates.end(), [](const Candidate& c) {
    return c.by != FoundBy::kBeside && c.object->usable == Usable::kYes;
  });
  return first == asked.candidates.end() ? nullptr : &*first;
}

std::string folder_of(const std::string& path) { return path.substr(0, std::max<std::size_t>(1, path.rfind('/'))); }

/// "libcudnn" of "libcudnn.so.9": its parts are "libcudnn_graph.so.9".
std::string stem_of(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.find(".so"));
}

}  // namespace

void check_named(const LoadPlan& plan, std::vector<inspect::Problem>& problems) {
  for (const LoadRequest& asked : plan.requests) {
    if (!asked.by_string || asked.asked_by == kNobody) continue;
    const Candidate& by = plan.objects[static_cast<std::size_t>(asked.asked_by)].found;
    const auto beside = std::find_if(asked.candidates.begin(), asked.candidates.end(), [&](const Candidate& c) {
      return c.object->usable == Usable::kYes && folder_of(c.file) == folder_of(by.file);
    });
    const bool has_own = beside != asked.candidates.end();
    const Candidate* const answer = answer_of(plan, asked);
    const std::string name = printable(asked.name);
    const std::string fix = fmt::format("take the other copy off the search path, or put {} first on LD_LIBRARY_PATH",
                                        printable_path(folder_of(by.path)));
    if (has_own && answer != nullptr && answer->id != beside->id) {
      const std::string how = asked.object != kNobody
                                  ? "which is loaded already"
                                  : "found by " + describe(plan, answer->by, answer->owner, asked.asked_by);
      problems.push_back({"FF606", inspect::Severity::kDegrades,
                          fmt::format("opens {} by name and gets {}, {}, not the one beside it: two copies of one "
                                      "library, mixed",
                                      name, printable_path(answer->path), how),
                          by.path, fix});
    } else if (has_own && answer == nullptr) {
      problems.push_back({"FF607", inspect::Severity::kUnknown,
                          fmt::format("opens {} by name, which lies beside it in a folder that is not searched: found "
                                      "only if it is loaded before",
                                      name),
                          by.path, fmt::format("put {} on LD_LIBRARY_PATH", printable_path(folder_of(by.path)))});
    } else if (!has_own && answer == nullptr && asked.name.starts_with(stem_of(by.path) + "_")) {
      problems.push_back({"FF607", inspect::Severity::kDegrades,
                          fmt::format("opens {} by name, a part of its own that is nowhere", name), by.path,
                          "install the package of " + plan.short_name(asked.asked_by) + " anew"});
    }
  }
}

}  // namespace flashfit::loader
