#include "doctor/dynamic_loader/dll_plan.hpp"

#include <map>
#include <unordered_map>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/binaries/pe.hpp"
#include "doctor/dynamic_loader/dll_names.hpp"

namespace flashfit::doctor::dynamic_loader {
namespace {

constexpr std::size_t kMostObjects = 4096, kMostRequests = 1 << 16;

Object read_dll(const doctor::Source& source) {
  const auto pe = doctor::read_pe(source);
  // Windows says "is not a valid Win32 application", and the search ends there.
  if (!pe) return {.usable = Usable::kBroken, .why = pe.error().message};
  Object object;
  for (const doctor::PeImport& import : pe->imports)
    if (!import.delayed) object.dynamic.needed.push_back(import.library);
  return object;
}

class DllPlanner {
 public:
  DllPlanner(const FileTree& tree, const DllView& view) : tree_(tree), view_(view) { plan_.windows = true; }

  /// A file by its path, and all that it needs.
  void load(const std::string& path, bool late) {
    const std::size_t first = plan_.objects.size();
    LoadRequest asked{.name = path, .late = late};
    add_candidate(path, tree_.resolve(path), asked.candidates);
    asked.object = asked.candidates.empty() ? kNobody : loaded(path.substr(path.rfind('/') + 1));
    answer(std::move(asked));
    const std::string own = parent_of(path);
    for (std::size_t i = first; i < plan_.objects.size() && plan_.cut.empty(); ++i) {
      const auto object = plan_.objects[i].found.object;
      for (const std::string& name : object->dynamic.needed) request(name, static_cast<int>(i), own, late);
    }
  }

  LoadPlan take() { return std::move(plan_); }

 private:
  void request(const std::string& name, int by, const std::string& own, bool late) {
    LoadRequest asked{.name = name, .asked_by = by, .late = late, .object = loaded(name)};
    // A name with a folder in it is no import's.
    if (name.find_first_of("/\\") == std::string::npos) {
      find_in(own, name, asked.candidates);
      for (const std::string& folder : view_.folders) find_in(folder, name, asked.candidates);
    }
    if (asked.object == kNobody && asked.candidates.empty() && is_of_windows(name)) return;
    answer(std::move(asked));
  }

  void answer(LoadRequest asked) {
    if (plan_.objects.size() >= kMostObjects || plan_.requests.size() >= kMostRequests) {
      plan_.cut = fmt::format("more than {} DLLs or {} requests for them", kMostObjects, kMostRequests);
      return;
    }
    if (asked.object != kNobody) {
      asked.by = FoundBy::kLoaded;
    } else if (asked.candidates.empty()) {
      asked.why = "no such file in any folder that is searched";
    } else if (asked.candidates[0].object->usable != Usable::kYes) {
      asked.why = printable(asked.candidates[0].path) + ": " + asked.candidates[0].object->why;
    } else {
      const Candidate& found = asked.candidates[0];
      asked.by = found.by;
      asked.object = static_cast<int>(plan_.objects.size());
      by_name_.emplace(lower(found.path.substr(found.path.rfind('/') + 1)), asked.object);
      plan_.objects.push_back(
          {.name = asked.name, .found = found, .asked_by = asked.asked_by, .late = asked.late, .names = {asked.name}});
    }
    plan_.requests.push_back(std::move(asked));
  }

  int loaded(const std::string& name) const {
    const auto found = by_name_.find(lower(name));
    return found == by_name_.end() ? kNobody : found->second;
  }

  void find_in(const std::string& folder, const std::string& name, std::vector<Candidate>& found) {
    const auto [at, added] = folders_.try_emplace(folder);
    if (added)
      if (const auto entries = tree_.list(folder))
        for (const Entry& entry : *entries) at->second.emplace(lower(entry.name), entry.name);
    const auto entry = at->second.find(lower(name));
    if (entry == at->second.end()) return;
    const std::string path = join(folder, entry->second);
    add_candidate(path, tree_.resolve(path), found);
  }

  void add_candidate(const std::string& path, const Resolved& file, std::vector<Candidate>& found) {
    if (file.node.kind != FileKind::kFile) return;
    for (const Candidate& other : found)
      if (other.id == file.node.id) return;
    auto& object = objects_[file.node.id];
    if (!object) {
      const auto source = tree_.open_here(file.path);
      object = std::make_shared<const Object>(
          source ? read_dll(**source) : Object{.usable = Usable::kBroken, .why = source.error().message});
    }
    found.push_back({path, file.path, file.node.id, file.node.size, FoundBy::kWindows, kNobody, object});
  }

  const FileTree& tree_;
  const DllView& view_;
  std::unordered_map<std::string, std::unordered_map<std::string, std::string>> folders_;  // lower case -> name
  std::map<FileId, std::shared_ptr<const Object>> objects_;
  std::unordered_map<std::string, int> by_name_;
  LoadPlan plan_;
};

}  // namespace

LoadPlan plan_dlls(const FileTree& tree, const DllView& view, const std::vector<std::string>& files) {
  DllPlanner planner(tree, view);
  for (const std::string& path : view.loaded) planner.load(path, false);
  for (const std::string& path : files) planner.load(path, true);
  return planner.take();
}

}  // namespace flashfit::doctor::dynamic_loader
