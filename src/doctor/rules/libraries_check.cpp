#include "core/base/printable.hpp"
#include "doctor/bytes/listing.hpp"
#include "doctor/rules/all_checks.hpp"
#include "doctor/rules/library_needs.hpp"

namespace flashfit::doctor {

void check_libraries(const Target& target, const Question& question, std::vector<Problem>& problems) {
  const bool folder = target.kind == TargetKind::kDirectory;
  const char* const absent = folder ? "not in this folder" : "not in this file";
  std::vector<std::string> unknown;
  std::string first;  // path of the binary that needs one of them
  for (const LibraryNeed& need : library_needs(target, question)) {
    const std::string& path = target.binaries[need.binary].path;
    if (need.package == nullptr) {
      if (unknown.empty()) first = path;
      unknown.push_back(printable(need.library));
      continue;
    }
    // A folder shows all that is installed, a wheel only itself.
    problems.push_back(
        {"FF330", folder ? Severity::kUnknown : Severity::kNote,
         fmt::format("needs {}, which is {} and comes with no system", need.library, absent), path,
         fmt::format("pip install {} (it lies in {} of site-packages)", need.package->package, need.package->folder)});
  }
  if (!unknown.empty() && target.kind != TargetKind::kLibrary)
    problems.push_back({"FF332", Severity::kNote,
                        fmt::format("needs {}: {}, and no package that is known here brings {}", listed(unknown),
                                    absent, unknown.size() == 1 ? "it" : "them"),
                        first, ""});
}

void check_vendored_driver(const Target& target, const Question&, std::vector<Problem>& problems) {
  for (const Binary& binary : target.binaries) {
    const std::string name = binary.path.substr(binary.path.rfind('/') + 1);
    const bool is_driver =
        binary.soname.starts_with("libcuda.so") || name.starts_with("libcuda.so") || name.starts_with("libcuda-");
    if (!is_driver || binary.path.find("stubs/") != std::string::npos || target.kind == TargetKind::kLibrary) continue;
    problems.push_back(
        {"FF331", Severity::kDegrades,
         "the driver's own library is packed along: it works under the very driver that it was copied from, "
         "elsewhere CUDA fails with error 803 or 804",
         binary.path, "a wheel built without it (auditwheel repair --exclude libcuda.so.1)"});
  }
}

}  // namespace flashfit::doctor
