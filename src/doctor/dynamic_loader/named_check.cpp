// Libraries that are opened by a name in a library's data: FF606, FF607.
#include <algorithm>
#include <map>

#include "core/base/printable.hpp"
#include "doctor/bytes/listing.hpp"
#include "doctor/dynamic_loader/all_problems.hpp"

namespace flashfit::doctor::dynamic_loader {
namespace {

/// What the dlopen would give; null: nothing.
const Candidate* answer_of(const LoadPlan& plan, const LoadRequest& asked) {
  if (asked.object != kNobody) return &plan.objects[static_cast<std::size_t>(asked.object)].found;
  const auto first = std::find_if(asked.candidates.begin(), asked.candidates.end(), [](const Candidate& c) {
    return c.by != FoundBy::kBeside && c.object->usable == Usable::kYes;
  });
  return first == asked.candidates.end() ? nullptr : &*first;
}

/// "libcudnn" of "libcudnn.so.9": its parts are "libcudnn_graph.so.9".
std::string stem_of(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.find(".so"));
}

/// Where the file lies, with the name that links lead to: that tells the version, "libcudnn_ops.so.9.1.0".
std::string words_of(const Candidate& found) {
  const std::string file = found.file.substr(found.file.rfind('/') + 1);
  const bool linked = !found.path.ends_with("/" + file);
  return printable_path(found.path) + (linked ? fmt::format(" ({})", printable(file)) : "");
}

/// Parts that one library would get from one other folder.
struct Mixed {
  std::vector<std::string> names;
  std::string first, others_from, how;
};
using MixedParts = std::map<std::pair<int, std::string>, Mixed>;

void add_mixed(const LoadPlan& plan, const LoadRequest& asked, const Candidate& answer, MixedParts& mixed) {
  Mixed& parts = mixed[{asked.asked_by, parent_of(answer.path)}];
  parts.names.push_back(printable(asked.name));
  if (parts.names.size() > 1) return;
  parts.first = words_of(answer);
  parts.others_from = printable_path(parent_of(answer.path));
  parts.how = asked.object != kNobody ? "which is loaded already"
                                      : "found by " + describe(plan, answer.by, answer.owner, asked.asked_by);
}

}  // namespace

void check_named(const LoadPlan& plan, PlanMark since, std::vector<doctor::Problem>& problems) {
  MixedParts mixed;
  for (std::size_t i = since.requests; i < plan.requests.size(); ++i) {
    const LoadRequest& asked = plan.requests[i];
    if (!asked.by_string || asked.asked_by == kNobody) continue;
    const Candidate& by = plan.objects[static_cast<std::size_t>(asked.asked_by)].found;
    const auto beside = std::find_if(asked.candidates.begin(), asked.candidates.end(), [&](const Candidate& c) {
      return c.object->usable == Usable::kYes && parent_of(c.file) == parent_of(by.file);
    });
    const bool has_own = beside != asked.candidates.end();
    const Candidate* const answer = answer_of(plan, asked);
    const std::string name = printable(asked.name);
    if (has_own && answer != nullptr && answer->id != beside->id) {
      // Two releases differ in size; the same size is the same build, installed twice.
      if (answer->size != beside->size) add_mixed(plan, asked, *answer, mixed);
    } else if (has_own && answer == nullptr) {
      problems.push_back({"FF607", doctor::Severity::kUnknown,
                          fmt::format("opens {} by name, which lies beside it in a folder that is not searched: found "
                                      "only if it is loaded before",
                                      name),
                          by.path, fmt::format("put {} on LD_LIBRARY_PATH", printable_path(parent_of(by.path)))});
    } else if (!has_own && answer == nullptr && asked.name.starts_with(stem_of(by.path) + "_")) {
      problems.push_back({"FF607", doctor::Severity::kDegrades,
                          fmt::format("opens {} by name, a part of its own that is nowhere", name), by.path,
                          "install the package of " + plan.short_name(asked.asked_by) + " anew"});
    }
  }
  for (const auto& [key, parts] : mixed) {
    const Candidate& by = plan.objects[static_cast<std::size_t>(key.first)].found;
    const bool one = parts.names.size() == 1;
    const std::string got = one ? parts.first : "those in " + parts.others_from;
    problems.push_back(
        {"FF606", doctor::Severity::kDegrades,
         fmt::format("opens {} by name and gets {}, {}, not the {} beside it: two copies of one library, mixed",
                     doctor::listed(parts.names), got, parts.how, one ? "one" : "ones"),
         by.path,
         fmt::format("take the other copy off the search path, or put {} first on LD_LIBRARY_PATH",
                     printable_path(parent_of(by.path)))});
  }
}

}  // namespace flashfit::doctor::dynamic_loader
