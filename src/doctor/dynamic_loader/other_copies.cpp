#include "doctor/dynamic_loader/other_copies.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace flashfit::doctor::dynamic_loader {

const Candidate* find_other_copy(const LoadPlan& plan, int object, const std::function<bool(const Object&)>& would_do) {
  const FileId own = plan.objects[static_cast<std::size_t>(object)].found.id;
  for (const LoadRequest& asked : plan.requests) {
    if (asked.object != object) continue;
    for (const Candidate& candidate : asked.candidates)
      if (candidate.id != own && candidate.object->usable == Usable::kYes && would_do(*candidate.object))
        return &candidate;
  }
  return nullptr;
}

std::string prefer(const LoadPlan& plan, const Candidate& copy, int object) {
  const Candidate& loaded = plan.objects[static_cast<std::size_t>(object)].found;
  const std::string folder = parent_of(copy.path);
  if (loaded.by == FoundBy::kRpath)
    return fmt::format("LD_PRELOAD={}: DT_RPATH goes before LD_LIBRARY_PATH", printable_path(copy.path));
  if (loaded.by == FoundBy::kLibraryPath && copy.by != FoundBy::kLibraryPath)
    return fmt::format("take its folder off LD_LIBRARY_PATH: then {} is loaded", printable_path(copy.path));
  return fmt::format("put {} first on LD_LIBRARY_PATH", printable_path(folder));
}

std::string describe_loaded(const LoadPlan& plan, int object) {
  const LoadedObject& loaded = plan.objects[static_cast<std::size_t>(object)];
  return fmt::format("{} (found by {})", printable_path(loaded.found.path),
                     describe(plan, loaded.found.by, loaded.found.owner, loaded.asked_by));
}

}  // namespace flashfit::doctor::dynamic_loader
