#include "doctor/dynamic_loader/load_plan.hpp"

#include <algorithm>

#include "core/base/printable.hpp"

namespace flashfit::doctor::dynamic_loader {

int LoadPlan::find(std::string_view name) const {
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const LoadedObject& object = objects[i];
    if (object.dropped) continue;
    // The program itself answers to no path, but to a soname, if it has one.
    if ((i > 0 || object.asked_by != kNobody || object.late) && object.found.path == name) return static_cast<int>(i);
    if (std::find(object.names.begin(), object.names.end(), name) != object.names.end()) return static_cast<int>(i);
    if (!name.empty() && object.found.object->dynamic.soname == name) return static_cast<int>(i);
  }
  return kNobody;
}

std::string LoadPlan::short_name(int object) const {
  if (object == kNobody) return "the program";
  const std::string& path = objects[static_cast<std::size_t>(object)].found.path;
  return printable(path.substr(path.rfind('/') + 1));
}

std::string printable_path(const std::string& path) {
  constexpr std::size_t kLongest = 400;
  return printable(path, kLongest);
}

std::string describe(const LoadPlan& plan, FoundBy by, int owner, int asked_by) {
  switch (by) {
    case FoundBy::kNothing:
      return "nothing";
    case FoundBy::kPath:
      return "its path";
    case FoundBy::kLoaded:
      return "being loaded already";
    case FoundBy::kRpath:
      return "DT_RPATH of " + plan.short_name(owner);
    case FoundBy::kLibraryPath:
      return "LD_LIBRARY_PATH";
    case FoundBy::kRunpath:
      return "DT_RUNPATH of " + plan.short_name(asked_by);
    case FoundBy::kCache:
      return "/etc/ld.so.cache";
    case FoundBy::kDefault:
      return "the system's default folders";
    case FoundBy::kBeside:
      return "the folder of " + plan.short_name(asked_by) + ", which is not searched";
    case FoundBy::kWindows:
      return "the folders for DLLs";
    case FoundBy::kDriver:
      return "NVIDIA's driver";
  }
  return "";
}

}  // namespace flashfit::doctor::dynamic_loader
