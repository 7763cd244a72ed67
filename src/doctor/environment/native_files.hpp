#pragma once
// Files of an environment that may hold machine code, found by walking its folders: RECORD leaves out what was copied,
// built in place or downloaded later.
#include <string>
#include <vector>

#include "doctor/dynamic_loader/file_tree.hpp"

namespace flashfit::doctor::environment {

struct NativeFile {
  std::string path;  ///< in the tree; it may itself be a link
  dynamic_loader::FileId id;
  std::uint64_t size = 0;
  std::string stamp;  ///< of dynamic_loader::Node, as the next
  std::int64_t changed = 0;
};

struct Walked {
  std::vector<NativeFile> files;    ///< by path; a file of several names once
  std::uint64_t seen = 0;           ///< files of every kind
  std::vector<std::string> unread;  ///< printable
};

/// Walks a folder of packages. Left out by name are texts, sources, pictures and Python's own files, which no loader
/// and no driver ever loads: names alone cost a tenth of looking into each. Folders that links lead to are walked under
/// the links' names, as Python imports them.
Walked find_native_files(const dynamic_loader::FileTree& tree, const std::string& top);
/// The same of a folder of somebody's sources that an environment imports: without hidden folders, what builds leave in
/// "build", and `but`, the environment's own prefix, which lies in many of them.
Walked find_native_sources(const dynamic_loader::FileTree& tree, const std::string& top, const std::string& but);

}  // namespace flashfit::doctor::environment
