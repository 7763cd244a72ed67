#pragma once
// Where the driver's library lies in a tree of files, and what kind of copy each is.
#include <string>
#include <vector>

#include "doctor/dynamic_loader/file_tree.hpp"

namespace flashfit::doctor::environment {

struct DriverFile {
  enum class Origin : unsigned char {
    kDriver,    ///< where a driver's installer or a container's runtime puts it
    kCompat,    ///< of a cuda-compat package: for some GPUs alone, 803 or 804 on others
    kStub,      ///< the toolkit's, for linking: no driver
    kVendored,  ///< in a package of Python's: a copy of another machine's
  };
  Origin origin = Origin::kDriver;
  std::string path;     ///< links followed, printable
  std::string version;  ///< by its file name: "580.95.05"; "" if that does not tell
};
/// "driver", "compat", "stub", "vendored".
const char* name_of(DriverFile::Origin origin);

/// Copies in the system's folders, CUDA's compat and stubs folders, and `library_path` (LD_LIBRARY_PATH's folders,
/// which win). The caller that walks through packages adds the copies in those.
std::vector<DriverFile> find_driver_files(const dynamic_loader::FileTree& tree,
                                          const std::vector<std::string>& library_path);

/// What a copy at this path is.
DriverFile::Origin origin_of(const std::string& path);

}  // namespace flashfit::doctor::environment
