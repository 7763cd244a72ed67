#include "doctor/environment/driver_files.hpp"

#include <algorithm>
#include <set>

#include "core/base/printable.hpp"
#include "core/gpu/device.hpp"

namespace flashfit::doctor::environment {
namespace {

using dynamic_loader::FileKind;
using dynamic_loader::FileTree;

bool has(const std::string& path, std::string_view part) { return path.find(part) != std::string::npos; }

/// Folders of systems, of container runtimes and of WSL, in the loader's order.
constexpr const char* kFolders[] = {"/usr/local/nvidia/lib64",
                                    "/usr/lib/x86_64-linux-gnu",
                                    "/lib/x86_64-linux-gnu",
                                    "/usr/lib/aarch64-linux-gnu",
                                    "/usr/lib64",
                                    "/lib64",
                                    "/usr/lib",
                                    "/usr/lib/wsl/lib"};

std::vector<std::string> toolkit_folders(const FileTree& tree) {
  std::vector<std::string> folders;
  if (const auto entries = tree.list("/usr/local"))
    for (const dynamic_loader::Entry& entry : *entries)
      if (entry.name.starts_with("cuda"))
        for (const char* const part : {"/compat", "/lib64/stubs"}) folders.push_back("/usr/local/" + entry.name + part);
  return folders;
}

}  // namespace

const char* name_of(DriverFile::Origin origin) {
  constexpr const char* kNames[] = {"driver", "compat", "stub", "vendored"};
  return kNames[static_cast<std::size_t>(origin)];
}

DriverFile::Origin origin_of(const std::string& path) {
  if (has(path, "/stubs/")) return DriverFile::Origin::kStub;
  if (has(path, "/compat/") || has(path, "/compat_orin/")) return DriverFile::Origin::kCompat;
  if (has(path, "-packages/")) return DriverFile::Origin::kVendored;
  return DriverFile::Origin::kDriver;
}

std::vector<DriverFile> find_driver_files(const FileTree& tree, const std::vector<std::string>& library_path) {
  std::vector<std::string> folders = library_path;
  folders.insert(folders.end(), std::begin(kFolders), std::end(kFolders));
  const auto toolkits = toolkit_folders(tree);
  folders.insert(folders.end(), toolkits.begin(), toolkits.end());
  std::vector<DriverFile> files;
  std::set<std::string> seen;
  for (const std::string& folder : folders)
    for (const char* const name : {"libcuda.so.1", "libcuda.so"}) {
      if (!folder.starts_with('/')) continue;
      const dynamic_loader::Resolved at = tree.resolve(folder + "/" + name);
      if (at.node.kind != FileKind::kFile || !seen.insert(at.path).second) continue;
      const std::string file = at.path.substr(at.path.rfind('/') + 1);
      // A folder's place in the name counts as it was asked for: /usr/local/cuda/compat may be a link elsewhere.
      const auto origin = std::max(origin_of(at.path), origin_of(folder + "/" + name));
      files.push_back({origin, printable(at.path, 300), parse_driver_version(file)});
    }
  return files;
}

}  // namespace flashfit::doctor::environment
