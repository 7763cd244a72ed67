#pragma once
// What the readers found in each file of an environment, kept between runs as one entry of the doctor's cache: an entry
// a file would cost more than reading most of them.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doctor/dynamic_loader/object.hpp"
#include "doctor/environment/native_files.hpp"
#include "doctor/facts/facts.hpp"
#include "doctor/facts/read_target.hpp"

namespace flashfit::doctor::environment {

struct FileFacts {
  std::string path;                              ///< in the tree
  std::string mark;                              ///< of the file as it was read: its place, size and times
  std::vector<doctor::Binary> binaries;          ///< paths are the file's, "lib.a!x.o" within an archive
  std::string error;                             ///< what could not be read; "" if all could
  std::optional<dynamic_loader::Object> object;  ///< what the loader looks at in a shared library
  dynamic_loader::FileId id;                     ///< as the walk found it: not kept
};

template <class V>
void visit(V& v, FileFacts& f) {
  v(f.path, f.mark, f.binaries, f.error, f.object);
}

/// The facts of each file, in their order, by the cache or anew on several threads. `name`: of the environment, for the
/// cache in `folder` ("" for none). Files that changed a moment ago are not kept, nor those of trees that cannot tell.
std::vector<FileFacts> read_file_facts(const dynamic_loader::FileTree& tree, const std::vector<NativeFile>& files,
                                       const std::string& folder, const std::string& name,
                                       const doctor::Progress& progress);

}  // namespace flashfit::doctor::environment
