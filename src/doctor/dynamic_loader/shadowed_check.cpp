// FF605: another copy is loaded than the one that a library's own search path leads to.
#include <algorithm>
#include <set>

#include "core/base/printable.hpp"
#include "doctor/dynamic_loader/all_problems.hpp"
#include "doctor/dynamic_loader/other_copies.hpp"

namespace flashfit::doctor::dynamic_loader {

void check_shadowed(const LoadPlan& plan, PlanMark since, std::vector<doctor::Problem>& problems) {
  std::set<std::pair<int, FileId>> said;  // the copy loaded and the other: once, not once an object
  for (std::size_t i = since.requests; i < plan.requests.size(); ++i) {
    const LoadRequest& asked = plan.requests[i];
    if (asked.object == kNobody || asked.asked_by == kNobody || asked.by_string) continue;
    const Candidate& loaded = plan.objects[static_cast<std::size_t>(asked.object)].found;
    const auto own = std::find_if(asked.candidates.begin(), asked.candidates.end(), [&](const Candidate& c) {
      return c.object->usable == Usable::kYes &&
             (c.by == FoundBy::kRunpath || (c.by == FoundBy::kRpath && c.owner == asked.asked_by));
    });
    if (own == asked.candidates.end() || own->id == loaded.id || !said.emplace(asked.object, own->id).second) continue;
    problems.push_back({"FF605", doctor::Severity::kNote,
                        fmt::format("{} is {}, not {}, to which its own {} leads", printable(asked.name),
                                    describe_loaded(plan, asked.object), printable_path(own->path),
                                    own->by == FoundBy::kRunpath ? "DT_RUNPATH" : "DT_RPATH"),
                        plan.objects[static_cast<std::size_t>(asked.asked_by)].found.path,
                        loaded.by == FoundBy::kLibraryPath ? prefer(plan, *own, asked.object) : ""});
  }
}

}  // namespace flashfit::doctor::dynamic_loader
