// FF330, FF332, FF405: libraries that are needed, now that it is known which ones the environment and the system have.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "environment/knowledge.hpp"
#include "environment/site.hpp"
#include "inspect/ascii.hpp"
#include "inspect/cudart.hpp"
#include "inspect/printable.hpp"
#include "loader/dll_names.hpp"

namespace flashfit::environment {
namespace {

using inspect::Binary;
using inspect::Problem;
using inspect::Severity;

bool falls_back(const Package& package, const std::string& path) {
  const Distribution& d = package.distribution;
  for (const Knowledge* const row : known_of(d.name, d.version, Knowledge::Kind::kFallsBack))
    if (matches(row->files, path)) return true;
  return false;
}

/// A library on PyTorch that no import of Python's opens: without a PyTorch nobody loads it.
bool waits_for_torch(const Site& site, const Binary& binary) {
  return site.torch_version().empty() && std::any_of(binary.needed.begin(), binary.needed.end(), [](const auto& l) {
           return l.starts_with("libtorch") || l.starts_with("libc10");
         });
}

}  // namespace

bool has_library(const Site& site, const Binary& binary, const std::string& name) {
  if (!binary.windows) return site.libraries.contains(name);
  return std::any_of(site.libraries.begin(), site.libraries.end(),
                     [wanted = inspect::lower(name)](const std::string& l) { return inspect::lower(l) == wanted; });
}

std::vector<MissingCuda> missing_libraries(const Site& site, const Binary& binary) {
  std::vector<MissingCuda> missing;
  int cuda = binary.toolkit / 1000;
  for (const std::string& library : binary.needed)
    if (const int major = inspect::cudart_major(library); major != 0) cuda = major;
  for (const std::string& library : binary.needed) {
    const inspect::CudaLibrary* const known =
        inspect::find_cuda_library(binary.windows ? loader::soname_of_dll(library) : library, cuda);
    if (known == nullptr || has_library(site, binary, library)) continue;
    std::string folder(known->folder);
    // Their packages for Windows have them in bin.
    if (binary.windows) folder.replace(folder.rfind('/') + 1, std::string::npos, "bin");
    missing.push_back({inspect::printable(library), std::move(folder), known->package});
  }
  return missing;
}

void check_missing_libraries(const Site& site, const Package& package, inspect::TargetReport& report) {
  const bool nvidia =
      !known_of(package.distribution.name, package.distribution.version, Knowledge::Kind::kChoosesItself).empty();
  std::erase_if(report.problems, [](const Problem& p) { return p.code == "FF330" || p.code == "FF332"; });
  // A runtime of another CUDA than torch's is no harm where it is there, or is named as missing below.
  for (Problem& p : report.problems) {
    if (p.code != "FF405") continue;
    const auto binary = std::find_if(report.target.binaries.begin(), report.target.binaries.end(),
                                     [&](const Binary& b) { return b.path == p.member; });
    const bool runtime = binary != report.target.binaries.end() &&
                         std::any_of(binary->needed.begin(), binary->needed.end(),
                                     [](const std::string& l) { return inspect::cudart_major(l) != 0; });
    if (runtime && p.message.find("built for the CPU") == std::string::npos) p.severity = Severity::kNote;
  }
  std::set<std::string> packages, folders, said;
  for (const Binary& binary : report.target.binaries) {
    const bool imported = is_module(binary);
    if (falls_back(package, binary.path)) continue;
    for (const MissingCuda& library : missing_libraries(site, binary)) {
      if (!said.emplace(library.name).second) continue;
      report.problems.push_back(
          {"FF330",
           nvidia || (!imported && waits_for_torch(site, binary)) ? Severity::kNote
           : imported                                             ? Severity::kMisfit
                                                                  : Severity::kDegrades,
           fmt::format("needs {}, which neither this environment nor its system has", library.name), binary.path,
           fmt::format("pip install {} (it brings {}/{})", library.package, library.folder, library.name)});
      packages.emplace(library.package);
      if (!binary.windows) folders.insert(fmt::format("{}/{}", package.distribution.folder, library.folder));
    }
  }
  if (packages.empty() || nvidia || !report.mend.empty()) return;
  report.mend = fmt::format("pip install {}", fmt::join(packages, " "));
  report.mend_why = folders.empty() ? "brings what is missing"
                                    : fmt::format(
                                          "brings what is missing; if the loader does not look there by itself: "
                                          "LD_LIBRARY_PATH={}",
                                          fmt::join(folders, ":"));
}

}  // namespace flashfit::environment
