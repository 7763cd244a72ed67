#include "doctor/dynamic_loader/process.hpp"

#include <algorithm>

#include "doctor/dynamic_loader/driver_libraries.hpp"
#include "doctor/dynamic_loader/hwcaps.hpp"
#include "doctor/dynamic_loader/ld_so_conf.hpp"
#include "doctor/dynamic_loader/load_faults.hpp"
#include "doctor/dynamic_loader/named_libraries.hpp"

namespace flashfit::doctor::dynamic_loader {
namespace {

constexpr const char* kCachePath = "/etc/ld.so.cache";
constexpr const char* kPreloadPath = "/etc/ld.so.preload";

/// Texts between any of the separators; empty ones are left out.
std::vector<std::string> split_words(std::string_view text, std::string_view separators) {
  std::vector<std::string> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(separators, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace

Process::Process(const FileTree& tree, const LoaderView& view)
    : Process(std::make_shared<TreeMemo>(tree, elf_machine(view.machine)), view) {}

Process::Process(std::shared_ptr<TreeMemo> memo, LoaderView view)
    : view_(std::move(view)), memo_(std::move(memo)), hwcaps_(hwcaps_of(view_.machine, view_.x86_level)) {
  const FileTree& tree = memo_->tree();
  plan_.machine = view_.machine;
  plan_.execstack_tunable = view_.execstack_tunable;
  use_interpreter(usual_interpreter(view_.machine));
  if (view_.cache == CacheUse::kConfigured) configured_ = read_ld_so_conf(tree);
  if (view_.cache != CacheUse::kFile) return;
  const auto source = tree.open(kCachePath);
  if (!source) return;
  if (auto cache = LdSoCache::read(**source)) cache_ = std::make_shared<const LdSoCache>(std::move(*cache));
}

void Process::use_interpreter(const std::string& interpreter) {
  plan_.c_library = find_c_library(memo_->tree(), view_.machine, interpreter);
  if (plan_.c_library.version == GlibcVersion{} && view_.glibc) plan_.c_library.version = *view_.glibc;
  library_path_ = split_search_path(view_.library_path, ":;", tokens_of(started_ ? 0 : kNobody), view_.current_folder);
}

bool Process::start(const std::string& program) {
  const Resolved file = memo_->tree().resolve(program);
  LoadRequest asked{.name = program};
  // The kernel names it without links.
  add_candidate(file.path, file, FoundBy::kPath, kNobody, asked.candidates);
  if (!asked.candidates.empty() && asked.candidates[0].object->usable == Usable::kYes) {
    asked.object = 0;
    asked.by = FoundBy::kPath;
    plan_.objects.push_back({.name = program, .found = asked.candidates[0]});
  } else {
    asked.why = asked.candidates.empty() ? "no such file" : asked.candidates[0].object->why;
  }
  plan_.requests.push_back(std::move(asked));
  if (plan_.objects.empty()) return false;
  started_ = true;
  const std::string& interpreter = plan_.objects[0].found.object->interpreter;
  if (interpreter.empty()) return true;  // a static program
  use_interpreter(interpreter);
  request({.name = interpreter, .asked_by = 0});
  preload();
  load_needs(0);
  return std::none_of(plan_.requests.begin(), plan_.requests.end(),
                      [](const LoadRequest& r) { return r.failed() && !r.preload; });
}

void Process::preload() {
  std::vector<std::string> names = split_words(view_.preload, " :");
  if (const auto file = read_text(memo_->tree(), kPreloadPath, 1 << 16))
    for (std::string& name : split_words(*file, " :\t\n")) names.push_back(std::move(name));
  for (std::string& name : names) request({.name = std::move(name), .asked_by = 0, .preload = true});
}

int Process::open(const std::string& name, int by) {
  const std::size_t first = plan_.objects.size(), first_request = plan_.requests.size();
  const int object = request({.name = name, .asked_by = program_or(by), .late = true});
  if (plan_.objects.size() == first) return object;
  load_needs(first);
  const bool failed = std::any_of(plan_.requests.begin() + static_cast<std::ptrdiff_t>(first_request),
                                  plan_.requests.end(), [](const LoadRequest& r) { return r.failed(); }) ||
                      any_fault(plan_, first);
  if (!failed) return object;
  for (std::size_t i = first; i < plan_.objects.size(); ++i) plan_.objects[i].dropped = true;
  return kNobody;
}

void Process::load_needs(std::size_t first) {
  for (std::size_t i = first; i < plan_.objects.size() && plan_.cut.empty(); ++i) {
    const auto object = plan_.objects[i].found.object;
    const int index = static_cast<int>(i);
    for (const std::string& needed : object->dynamic.needed)
      request({.name = expand_tokens(needed, tokens_of(index)).value_or(needed),
               .asked_by = index,
               .late = plan_.objects[i].late});
  }
}

int Process::request(LoadRequest asked) {
  if (plan_.objects.size() >= kMostObjects || plan_.requests.size() >= kMostRequests) {
    plan_.cut = fmt::format("more than {} libraries or {} requests for them", kMostObjects, kMostRequests);
    return kNobody;
  }
  asked.candidates = search(asked.name, asked.asked_by);
  asked.object = plan_.find(asked.name);
  asked.by = asked.object == kNobody ? FoundBy::kNothing : FoundBy::kLoaded;
  if (asked.object == kNobody) answer(asked);
  if (asked.object == kNobody && view_.driver_comes_later && is_of_driver(asked.name)) asked.by = FoundBy::kDriver;
  if (asked.object != kNobody) {
    auto& names = plan_.objects[static_cast<std::size_t>(asked.object)].names;
    if (std::find(names.begin(), names.end(), asked.name) == names.end()) names.push_back(asked.name);
  }
  const int object = asked.object;
  plan_.requests.push_back(std::move(asked));
  return object;
}

void Process::answer(LoadRequest& asked) {
  const auto chosen = std::find_if(asked.candidates.begin(), asked.candidates.end(),
                                   [](const Candidate& c) { return c.object->usable != Usable::kPassedOver; });
  if (chosen == asked.candidates.end() || chosen->object->usable == Usable::kBroken) {
    asked.why = chosen == asked.candidates.end() ? "no such file in any folder that is searched"
                                                 : printable_path(chosen->path) + ": " + chosen->object->why;
    return;
  }
  asked.by = chosen->by;
  const auto same = std::find_if(plan_.objects.begin(), plan_.objects.end(),
                                 [&](const LoadedObject& o) { return !o.dropped && o.found.id == chosen->id; });
  asked.object = static_cast<int>(same - plan_.objects.begin());
  if (same == plan_.objects.end())
    plan_.objects.push_back({.name = asked.name, .found = *chosen, .asked_by = asked.asked_by, .late = asked.late});
}

void Process::look_for_named(int object) {
  const Candidate& found = plan_.objects[static_cast<std::size_t>(object)].found;
  const auto source = memo_->tree().open_here(found.file);
  if (!source) return;
  for (std::string& name : find_named_libraries(**source)) {
    if (plan_.requests.size() >= kMostRequests) return;
    LoadRequest asked{.name = std::move(name), .asked_by = object, .late = true, .by_string = true};
    asked.candidates = search(asked.name, object);
    const std::string folder = parent_of(found.path);
    add_candidate(join(folder, asked.name), memo_->find(folder, asked.name), FoundBy::kBeside, kNobody,
                  asked.candidates);
    asked.object = plan_.find(asked.name);
    if (asked.object != kNobody) asked.by = FoundBy::kLoaded;
    plan_.requests.push_back(std::move(asked));
  }
}

}  // namespace flashfit::doctor::dynamic_loader
