#include "doctor/environment/imports.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "doctor/dynamic_loader/load_faults.hpp"
#include "doctor/dynamic_loader/other_copies.hpp"
#include "doctor/dynamic_loader/problems.hpp"
#include "doctor/environment/prefix.hpp"
#include "doctor/environment/torch_import.hpp"
#include "doctor/knowledge/cuda_libraries.hpp"
#include "doctor/mends/mends.hpp"

namespace flashfit::doctor::environment {
namespace {

using dynamic_loader::FoundBy;
using dynamic_loader::kNobody;
using dynamic_loader::LoadedObject;
using dynamic_loader::LoadPlan;
using dynamic_loader::Process;

/// Whether the library has parts beside it, which it opens by their names: libcudnn.so.9, libcudnn_graph.so.9.
bool has_parts(const dynamic_loader::FileTree& tree, const dynamic_loader::Candidate& found) {
  const std::string name = found.file.substr(found.file.rfind('/') + 1);
  const std::string part = name.substr(0, name.find(".so")) + "_";
  const auto entries = tree.list_here(dynamic_loader::parent_of(found.file));
  return entries && std::any_of(entries->begin(), entries->end(), [&](const dynamic_loader::Entry& entry) {
           return entry.name.starts_with(part) && entry.name.find(".so") != std::string::npos;
         });
}

std::string joined(const std::vector<std::string>& folders) { return fmt::format("{}", fmt::join(folders, ":")); }

/// What may be changed, and how it is written for a shell.
struct Trial {
  dynamic_loader::LoaderView view;
  Change change;
};

void add_without(const dynamic_loader::LoaderView& view, const std::set<std::string>& taken,
                 std::vector<Trial>& trials) {
  if (taken.empty()) return;
  std::vector<std::string> kept;
  for (std::string& folder : folders_of(view.library_path)) {
    std::string bare = folder;
    while (bare.size() > 1 && bare.ends_with('/')) bare.pop_back();
    if (!taken.contains(bare)) kept.push_back(std::move(folder));
  }
  Trial trial{view, {}};
  trial.view.library_path = joined(kept);
  trial.change.command =
      kept.empty() ? "unset LD_LIBRARY_PATH" : "export LD_LIBRARY_PATH=" + doctor::shell_word(trial.view.library_path);
  trial.change.why = fmt::format("without {} the libraries that belong together are loaded",
                                 joined(std::vector<std::string>(taken.begin(), taken.end())));
  trials.push_back(std::move(trial));
}

void add_copy(const dynamic_loader::LoaderView& view, const dynamic_loader::Candidate& copy,
              std::vector<Trial>& trials) {
  Trial first{view, {}}, preloaded{view, {}};
  const std::string folder = dynamic_loader::parent_of(copy.path);
  first.view.library_path = folder + (view.library_path.empty() ? "" : ":" + view.library_path);
  first.change = {"export LD_LIBRARY_PATH=" + doctor::shell_word(first.view.library_path),
                  fmt::format("then {} is loaded, which has what is missing", copy.path)};
  preloaded.view.preload = copy.path + (view.preload.empty() ? "" : ":" + view.preload);
  preloaded.change = {"export LD_PRELOAD=" + doctor::shell_word(preloaded.view.preload), first.change.why};
  trials.push_back(std::move(first));
  trials.push_back(std::move(preloaded));
}

/// Folders of LD_LIBRARY_PATH whose file is an answer that harms: it lacks something, is broken, or is mixed with parts
/// of another copy.
std::set<std::string> folders_at_fault(const LoadPlan& plan) {
  std::set<std::string> folders;
  const auto add = [&](const dynamic_loader::Candidate& found) {
    if (found.by == FoundBy::kLibraryPath) folders.insert(dynamic_loader::parent_of(found.path));
  };
  const auto add_object = [&](int object) { add(plan.objects[static_cast<std::size_t>(object)].found); };
  for (const dynamic_loader::MissingVersion& missing : missing_versions(plan)) add_object(missing.provider);
  for (const dynamic_loader::MissingSymbol& missing : missing_symbols(plan)) add_object(missing.provider);
  for (const dynamic_loader::LoadRequest& asked : plan.requests) {
    if (asked.by_string && asked.object != kNobody) add_object(asked.object);
    if (asked.by_string && asked.object == kNobody && asked.candidates.size() > 1) add(asked.candidates.front());
    for (const dynamic_loader::Candidate& candidate : asked.candidates)
      if (asked.failed() && candidate.object->usable == dynamic_loader::Usable::kBroken) add(candidate);
  }
  return folders;
}

/// The changes that a plan suggests, what changes least first.
std::vector<Trial> trials_of(const LoadPlan& plan, const dynamic_loader::LoaderView& view) {
  std::vector<Trial> trials;
  add_without(view, folders_at_fault(plan), trials);
  const auto add_other = [&](int provider, const auto& would_do) {
    if (const auto* const copy = find_other_copy(plan, provider, would_do); copy != nullptr)
      add_copy(view, *copy, trials);
  };
  for (const dynamic_loader::MissingVersion& missing : missing_versions(plan))
    add_other(missing.provider, [&](const dynamic_loader::Object& other) {
      return std::find(other.versions.begin(), other.versions.end(), missing.version) != other.versions.end();
    });
  for (const dynamic_loader::MissingSymbol& missing : missing_symbols(plan))
    add_other(missing.provider, [&](const dynamic_loader::Object& other) {
      return std::binary_search(other.symbols.begin(), other.symbols.end(), missing.symbol);
    });
  Trial stack{view,
              {"export GLIBC_TUNABLES=glibc.rtld.execstack=2", "glibc then gives the library the stack it asks for"}};
  stack.view.execstack_tunable = true;
  if (std::any_of(plan.objects.begin(), plan.objects.end(),
                  [&](const LoadedObject& o) { return refuses_stack(plan, o).value_or(false); }))
    trials.push_back(std::move(stack));
  constexpr std::size_t kMostTrials = 12;  // each is a whole import
  if (trials.size() > kMostTrials) trials.resize(kMostTrials);
  return trials;
}

/// Leaves what libraries of the packages want of each other in vain.
void leave_packages_alone(const LoadPlan& plan, const std::vector<std::string>& sites, Opened& opened) {
  const auto path = [&](int object) -> const std::string& {
    return plan.objects[static_cast<std::size_t>(object)].found.path;
  };
  const auto is_packages = [&](int object) {
    return std::any_of(sites.begin(), sites.end(),
                       [&](const std::string& site) { return path(object).starts_with(site + "/"); });
  };
  std::set<std::string> at_fault;
  for (const dynamic_loader::MissingSymbol& missing : missing_symbols(plan))
    if (is_packages(missing.object) && is_packages(missing.provider)) at_fault.insert(path(missing.object));
  std::erase_if(opened.problems,
                [&](const doctor::Problem& p) { return p.code != "FF604" || !at_fault.contains(p.member); });
  opened.missing.clear();
}

}  // namespace

Imports::Imports(std::shared_ptr<dynamic_loader::TreeMemo> memo, ImportSetting setting)
    : memo_(std::move(memo)), setting_(std::move(setting)), python_(memo_, setting_.view), with_torch_(python_) {
  if (!setting_.python.empty()) {
    Process started = python_;
    starts_ = started.start(setting_.python);
    if (starts_) python_ = std::move(started);
  }
  with_torch_ = python_;
  if (setting_.torch.empty()) return;
  const dynamic_loader::PlanMark since = python_.plan().mark();
  import_torch(memo_->tree(), setting_.torch, setting_.torch_module, setting_.sites, with_torch_);
  look_for_parts(with_torch_, since.objects);
  torch_ = opened(with_torch_, since, 0);
}

void Imports::look_for_parts(Process& process, std::size_t first) const {
  for (std::size_t i = first; i < process.plan().objects.size(); ++i) {
    const LoadedObject& object = process.plan().objects[i];
    const bool nvidias = doctor::find_cuda_library(object.found.object->dynamic.soname, 0) != nullptr;
    if (nvidias && !object.dropped && has_parts(memo_->tree(), object.found))
      process.look_for_named(static_cast<int>(i));
  }
}

Process Imports::filled(const std::vector<std::string>& files, bool after_torch, std::size_t& loaded) const {
  Process process = after_torch ? with_torch_ : python_;
  const std::size_t first = process.plan().objects.size();
  for (const std::string& file : files)
    if (process.open(file) != kNobody) ++loaded;
  look_for_parts(process, first);
  return process;
}

Opened Imports::opened(const Process& process, dynamic_loader::PlanMark since, std::size_t loaded) const {
  const LoadPlan& plan = process.plan();
  Opened result{.problems = loader_problems(plan, since), .loaded = loaded};
  std::erase_if(result.problems, [](const doctor::Problem& p) { return p.code == "FF601"; });
  for (std::size_t i = since.requests; i < plan.requests.size(); ++i) {
    const dynamic_loader::LoadRequest& asked = plan.requests[i];
    if (!asked.failed() || asked.by_string || asked.preload || asked.asked_by == kNobody) continue;
    // A file that is there and broken is FF602.
    if (std::any_of(asked.candidates.begin(), asked.candidates.end(),
                    [](const auto& c) { return c.object->usable == dynamic_loader::Usable::kBroken; }))
      continue;
    result.missing.push_back({asked.name, plan.objects[static_cast<std::size_t>(asked.asked_by)].found.path});
  }
  if (setting_.packages_alone) leave_packages_alone(plan, setting_.sites, result);
  return result;
}

Opened Imports::open(const std::vector<std::string>& files, bool after_torch) const {
  const dynamic_loader::PlanMark since = (after_torch ? with_torch_ : python_).plan().mark();
  std::size_t loaded = 0;
  const Process process = filled(files, after_torch, loaded);
  return opened(process, since, loaded);
}

std::optional<Change> Imports::mend(const std::vector<std::string>& files, bool after_torch,
                                    bool (*harms)(const doctor::Problem&)) const {
  std::size_t loaded = 0;
  const Process broken = filled(files, after_torch, loaded);
  for (Trial& trial : trials_of(broken.plan(), setting_.view)) {
    ImportSetting changed = setting_;
    changed.view = std::move(trial.view);
    const Imports imports(memo_, std::move(changed));
    const Opened after = imports.open(files, after_torch);
    const bool of_torch =
        after_torch && std::any_of(imports.torch().problems.begin(), imports.torch().problems.end(), harms);
    if (!of_torch && after.loaded >= loaded && std::none_of(after.problems.begin(), after.problems.end(), harms))
      return std::move(trial.change);
  }
  return std::nullopt;
}

}  // namespace flashfit::doctor::environment
