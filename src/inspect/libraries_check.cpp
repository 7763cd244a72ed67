#include <algorithm>
#include <array>
#include <set>

#include "inspect/all_checks.hpp"
#include "inspect/cuda_libraries.hpp"
#include "inspect/cudart.hpp"
#include "inspect/listing.hpp"
#include "inspect/marker.hpp"
#include "inspect/metadata.hpp"
#include "inspect/printable.hpp"
#include "inspect/torch_facts.hpp"

namespace flashfit::inspect {
namespace {

std::string base_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// What every Linux with a desktop or a driver has: auditwheel's policy for manylinux_2_28, the driver, the
/// interpreter.
bool is_of_the_system(std::string_view library) {
  constexpr auto kExact = std::to_array<std::string_view>(
      {"libc.so.6",     "libm.so.6",      "libmvec.so.1",   "libdl.so.2",     "librt.so.1",        "libpthread.so.0",
       "libutil.so.1",  "libanl.so.1",    "libnsl.so.1",    "libresolv.so.2", "libz.so.1",         "libexpat.so.1",
       "libgcc_s.so.1", "libstdc++.so.6", "libatomic.so.1", "libX11.so.6",    "libXext.so.6",      "libXrender.so.1",
       "libICE.so.6",   "libSM.so.6",     "libGL.so.1",     "libcuda.so.1",   "libnvidia-ml.so.1", "libgomp.so.1"});
  constexpr auto kPrefixes =
      std::to_array<std::string_view>({"ld-linux", "libpython3", "libglib-2.0", "libgobject-2.0", "libgthread-2.0"});
  return std::find(kExact.begin(), kExact.end(), library) != kExact.end() ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](auto p) { return library.starts_with(p); });
}

/// PyTorch's own, which the checks of PyTorch judge.
bool is_of_torch(std::string_view library) {
  return library.starts_with("libtorch") || library.starts_with("libc10") || library.starts_with("libcaffe2");
}

/// Names under which the target's own libraries are found.
std::set<std::string> provided_by(const Target& target) {
  std::set<std::string> names;
  for (const Binary& binary : target.binaries) {
    names.insert(base_of(binary.path));
    if (!binary.soname.empty()) names.insert(binary.soname);
  }
  return names;
}

/// Projects that an installer brings along; those of an extra, or for another system, do not come.
std::set<std::string> required_by(const Target& target, const Question& question) {
  std::set<std::string> names;
  if (const auto metadata = parse_metadata(target.metadata))
    for (const Requirement& requirement : metadata->requirements)
      if (!requirement.optional() && marker_holds(requirement.marker, {question.python, question.platform}) != false)
        names.insert(requirement.name);
  return names;
}

int cuda_of(const Target& target) {
  for (const Binary& binary : target.binaries) {
    for (const std::string& library : binary.needed)
      if (const int major = cudart_major(library); major != 0) return major;
    if (binary.toolkit != 0) return binary.toolkit / 1000;
  }
  return 0;
}

}  // namespace

void check_libraries(const Target& target, const Question& question, std::vector<Problem>& problems) {
  const std::set<std::string> provided = provided_by(target), required = required_by(target, question);
  const bool with_torch = question.torch != nullptr || required.contains("torch");
  const int theirs = question.torch ? cuda_major(*question.torch) : 0;
  const int cuda = cuda_of(target);
  const bool folder = target.kind == TargetKind::kDirectory;
  const char* const absent = folder ? "not in this folder" : "not in this file";
  std::set<std::string> named;
  std::vector<std::string> unknown;
  std::string first;  // path of the binary that needs one of them
  for (const Binary& binary : target.binaries) {
    if (binary.kind != BinaryKind::kElf) continue;
    for (const std::string& library : binary.needed) {
      if (provided.contains(library) || is_of_the_system(library) || is_of_torch(library)) continue;
      if (question.torch && question.torch->libraries.contains(library)) continue;
      const CudaLibrary* const known = find_cuda_library(library, cuda);
      // PyTorch's wheels bring the libraries of their own CUDA.
      const bool by_torch = known != nullptr && with_torch && (theirs == 0 || theirs == known->cuda);
      if (by_torch || (known != nullptr && required.contains(std::string(known->package)))) continue;
      if (!named.insert(library).second) continue;
      if (known == nullptr) {
        if (unknown.empty()) first = binary.path;
        unknown.push_back(printable(library));
        continue;
      }
      // A folder shows all that is installed, a wheel only itself.
      problems.push_back(
          {"FF330", folder ? Severity::kUnknown : Severity::kNote,
           fmt::format("needs {}, which is {} and comes with no system", library, absent), binary.path,
           fmt::format("pip install {} (it lies in {} of site-packages)", known->package, known->folder)});
    }
  }
  if (!unknown.empty() && target.kind != TargetKind::kLibrary)
    problems.push_back({"FF332", Severity::kNote,
                        fmt::format("needs {}: {}, and no package that is known here brings {}", listed(unknown),
                                    absent, unknown.size() == 1 ? "it" : "them"),
                        first, ""});
}

void check_vendored_driver(const Target& target, const Question&, std::vector<Problem>& problems) {
  for (const Binary& binary : target.binaries) {
    const std::string name = base_of(binary.path);
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

}  // namespace flashfit::inspect
