// Where a name is looked for: Process::search() and what it is made of.
#include <algorithm>

#include "doctor/dynamic_loader/process.hpp"

namespace flashfit::doctor::dynamic_loader {

PathTokens Process::tokens_of(int object) const {
  PathTokens tokens{.lib = plan_.c_library.lib, .platform = view_.platform};
  if (object == kNobody) return tokens;
  const std::string& path = plan_.objects[static_cast<std::size_t>(object)].found.path;
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos) tokens.origin = slash == 0 ? "/" : path.substr(0, slash);
  return tokens;
}

std::vector<std::string> Process::folders_of(const std::string& list, int object) const {
  return split_search_path(list, ":", tokens_of(object), view_.current_folder);
}

void Process::add_candidate(const std::string& path, const Resolved& file, FoundBy how, int owner,
                            std::vector<Candidate>& found) const {
  const auto same = [&](const Candidate& c) { return c.id == file.node.id; };
  if (file.node.kind != FileKind::kFile || std::any_of(found.begin(), found.end(), same)) return;
  found.push_back({path, file.path, file.node.id, file.node.size, how, owner, memo_->object(file)});
}

void Process::search_in(const std::string& folder, const std::string& name, FoundBy how, int owner,
                        std::vector<Candidate>& found) const {
  if (!memo_->has_folder(folder)) return;
  for (const std::string& hwcaps : hwcaps_) {
    const std::string better = join(join(folder, "glibc-hwcaps"), hwcaps);
    add_candidate(join(better, name), memo_->find(better, name), how, owner, found);
  }
  add_candidate(join(folder, name), memo_->find(folder, name), how, owner, found);
}

std::vector<Candidate> Process::search(const std::string& name, int by) const {
  if (name.empty()) return {};
  if (name.find('/') == std::string::npos) return search_path(name, by);
  std::vector<Candidate> found;
  auto path = expand_tokens(name, tokens_of(by));
  if (path && path->front() != '/') {
    if (view_.current_folder.empty()) return {};
    path = join(view_.current_folder, *path);
  }
  if (path) add_candidate(*path, memo_->tree().resolve(*path), FoundBy::kPath, kNobody, found);
  return found;
}

std::vector<Candidate> Process::search_path(const std::string& name, int by) const {
  std::vector<Candidate> found;
  const auto dynamic_of = [&](int object) -> const doctor::ElfDynamic& {
    return plan_.objects[static_cast<std::size_t>(object)].found.object->dynamic;
  };
  const auto search_rpath = [&](int owner) {
    if (dynamic_of(owner).rpath.empty()) return;
    for (const std::string& folder : folders_of(dynamic_of(owner).rpath, owner))
      search_in(folder, name, FoundBy::kRpath, owner, found);
  };
  // DT_RPATH of the one who asks, of the one who asked for it, and so on, and of the program; none if the first has
  // DT_RUNPATH.
  if (by == kNobody || dynamic_of(by).runpath.empty()) {
    bool passed_program = false;
    for (int owner = by; owner != kNobody; owner = plan_.objects[static_cast<std::size_t>(owner)].asked_by) {
      search_rpath(owner);
      passed_program |= owner == 0;
    }
    if (started_ && !passed_program) search_rpath(0);
  }
  for (const std::string& folder : library_path_) search_in(folder, name, FoundBy::kLibraryPath, kNobody, found);
  if (by != kNobody)
    for (const std::string& folder : folders_of(dynamic_of(by).runpath, by))
      search_in(folder, name, FoundBy::kRunpath, by, found);

  const bool defaults = by == kNobody || !dynamic_of(by).no_default_folders;
  const auto is_default = [&](const std::string& path) {
    return std::any_of(plan_.c_library.default_folders.begin(), plan_.c_library.default_folders.end(),
                       [&](const std::string& folder) { return path.starts_with(folder + "/"); });
  };
  if (const auto* const entry = cache_ ? cache_->find(name, LdSoCache::flags_of(view_.machine), hwcaps_) : nullptr)
    if (defaults || !is_default(entry->path))
      add_candidate(entry->path, memo_->tree().resolve(entry->path), FoundBy::kCache, kNobody, found);
  for (const std::string& folder : configured_) search_in(folder, name, FoundBy::kCache, kNobody, found);
  if (defaults)
    for (const std::string& folder : plan_.c_library.default_folders)
      search_in(folder, name, FoundBy::kDefault, kNobody, found);
  return found;
}

}  // namespace flashfit::doctor::dynamic_loader
