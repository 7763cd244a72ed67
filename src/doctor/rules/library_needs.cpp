#include "doctor/rules/library_needs.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "doctor/facts/torch_facts.hpp"
#include "doctor/knowledge/cuda_library_rows.hpp"
#include "doctor/knowledge/torch_libraries.hpp"
#include "doctor/packaging/marker.hpp"
#include "doctor/packaging/metadata.hpp"
#include "doctor/rules/cudart.hpp"

namespace flashfit::doctor {
namespace {

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

/// Names under which the target's own libraries are found.
std::set<std::string> provided_by(const Target& target) {
  std::set<std::string> names;
  for (const Binary& binary : target.binaries) {
    names.insert(binary.path.substr(binary.path.rfind('/') + 1));
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

std::vector<LibraryNeed> library_needs(const Target& target, const Question& question) {
  const std::set<std::string> provided = provided_by(target), required = required_by(target, question);
  const bool with_torch = question.torch != nullptr || required.contains("torch");
  const int theirs = question.torch ? cuda_major(*question.torch) : 0;
  const int said = cuda_of(target), cuda = said == 0 ? theirs : said;
  std::set<std::string_view> named;
  std::vector<LibraryNeed> needs;
  for (std::size_t b = 0; b < target.binaries.size(); ++b) {
    const Binary& binary = target.binaries[b];
    if (binary.kind != BinaryKind::kElf) continue;
    for (const std::string& library : binary.needed) {
      if (provided.contains(library) || is_of_the_system(library) || is_torch_library(library))
        continue;  // PyTorch's are judged by its checks
      if (question.torch && question.torch->libraries.contains(library)) continue;
      const CudaLibrary* const known = find_cuda_library(library, cuda);
      // PyTorch's wheels bring the libraries of their own CUDA.
      const bool by_torch = known != nullptr && with_torch && (theirs == 0 || theirs == known->cuda);
      if (by_torch || (known != nullptr && required.contains(std::string(project_of(*known))))) continue;
      if (named.insert(library).second) needs.push_back({library, b, known});
    }
  }
  return needs;
}

}  // namespace flashfit::doctor
