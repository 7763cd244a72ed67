#pragma once
// A FileTree made in memory, for tests: files, links and the folders above them.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "doctor/dynamic_loader/file_tree.hpp"

namespace flashfit::doctor::dynamic_loader {

class MadeTree final : public FileTree {
 public:
  MadeTree() { add_folder("/"); }

  void add_folder(const std::string& path) {
    if (nodes_.contains(path)) return;
    if (path != "/") add_folder(parent_of(path));
    nodes_[path] = {.kind = FileKind::kFolder, .id = next_id()};
  }
  void add_file(const std::string& path, std::vector<std::byte> bytes) {
    add_folder(parent_of(path));
    nodes_[path] = {.kind = FileKind::kFile, .id = next_id(), .size = bytes.size()};
    files_[path] = std::move(bytes);
  }
  void add_file(const std::string& path, std::string_view text) {
    const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
    add_file(path, std::vector<std::byte>(begin, begin + text.size()));
  }
  void add_link(const std::string& path, const std::string& target) {
    add_folder(parent_of(path));
    nodes_[path] = {.kind = FileKind::kLink, .id = next_id(), .target = target};
  }

  Node look(const std::string& path) const override {
    const auto found = nodes_.find(path);
    return found == nodes_.end() ? Node{.kind = FileKind::kNone, .why = "no such file"} : found->second;
  }
  Result<std::vector<Entry>> list_here(const std::string& path) const override {
    std::vector<Entry> entries;
    for (const auto& [other, node] : nodes_)
      if (other != "/" && parent_of(other) == path) entries.push_back({other.substr(other.rfind('/') + 1), node.kind});
    return entries;
  }
  Result<std::unique_ptr<const doctor::Source>> open_here(const std::string& path) const override {
    const auto found = files_.find(path);
    if (found == files_.end()) return fail(Code::kInvalidArgument, path + ": no such file");
    return std::make_unique<const doctor::MemorySource>(found->second);
  }

 private:
  static std::string parent_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == 0 ? "/" : path.substr(0, slash);
  }
  FileId next_id() { return {.device = 1, .number = ++files_made_}; }

  std::map<std::string, Node> nodes_;
  std::map<std::string, std::vector<std::byte>> files_;
  std::uint64_t files_made_ = 0;
};

}  // namespace flashfit::doctor::dynamic_loader
