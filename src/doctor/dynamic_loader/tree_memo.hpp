#pragma once
// What was looked at in a tree, kept: a model asks for the same folders and files hundreds of times.
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "doctor/dynamic_loader/file_tree.hpp"
#include "doctor/dynamic_loader/object.hpp"

namespace flashfit::doctor::dynamic_loader {

/// A tree that is not changed while the memo lives. Not for several threads at once.
class TreeMemo {
 public:
  /// The tree must outlive it. `machine`: ELF's number (elf_machine).
  TreeMemo(const FileTree& tree, std::uint16_t machine) : tree_(tree), machine_(machine) {}

  const FileTree& tree() const { return tree_; }
  /// FileTree::resolve() of folder/name, where most names are absent: each folder is listed once. In a folder that may
  /// be passed but not listed, nothing is found.
  Resolved find(const std::string& folder, const std::string& name);
  bool has_folder(const std::string& folder) { return listing(folder).there; }
  /// Of what resolve() found to be a regular file.
  std::shared_ptr<const Object> object(const Resolved& file);
  /// What somebody read of a file before: it is not read again.
  void know(const FileId& file, std::shared_ptr<const Object> object) { objects_.emplace(file, std::move(object)); }

 private:
  struct Listing {
    bool there = false;
    std::string path;  ///< without links
    std::unordered_set<std::string> names;
  };
  const Listing& listing(const std::string& folder);

  const FileTree& tree_;
  std::uint16_t machine_;
  std::unordered_map<std::string, Listing> listings_;
  std::map<FileId, std::shared_ptr<const Object>> objects_;
};

}  // namespace flashfit::doctor::dynamic_loader
