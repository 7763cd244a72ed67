#pragma once
// What the readers found in each file of an environment, kept between runs as one entry of the doctor's cache: an entry
// a file would cost more than reading most of them.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "environment/cuda_tools.hpp"
#include "environment/native_files.hpp"
#include "inspect/facts.hpp"
#include "inspect/read_target.hpp"
#include "loader/object.hpp"

namespace flashfit::environment {

struct FileFacts {
  std::string path;                       ///< in the tree
  std::string mark;                       ///< of the file as it was read: its place, size and times
  std::vector<inspect::Binary> binaries;  ///< paths are the file's, "lib.a!x.o" within an archive
  std::string error;                      ///< what could not be read; "" if all could
  CudaVersion tool = 0;                   ///< of a compiler of GPU code: the CUDA that it is of
  std::optional<loader::Object> object;   ///< what the loader looks at in a shared library
  loader::FileId id;                      ///< as the walk found it: not kept
};

template <class V>
void visit(V& v, FileFacts& f) {
  v(f.path, f.mark, f.binaries, f.error, f.tool, f.object);
}

/// The facts of each file, in their order, by the cache or anew on several threads. `name`: of the environment, for the
/// cache in `folder` ("" for none). Files that changed a moment ago are not kept, nor those of trees that cannot tell.
std::vector<FileFacts> read_file_facts(const loader::FileTree& tree, const std::vector<NativeFile>& files,
                                       const std::string& folder, const std::string& name,
                                       const inspect::Progress& progress);

}  // namespace flashfit::environment
