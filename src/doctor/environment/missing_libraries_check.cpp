// FF330, FF332, FF405: libraries that are needed, now that it is known which ones the environment and the system have.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/dynamic_loader/dll_names.hpp"
#include "doctor/environment/site.hpp"
#include "doctor/knowledge/data.hpp"
#include "doctor/knowledge/package_rows.hpp"
#include "doctor/knowledge/torch_libraries.hpp"
#include "doctor/mends/mends.hpp"
#include "doctor/packaging/metadata.hpp"
#include "doctor/rules/cudart.hpp"

namespace flashfit::doctor::environment {
namespace {

bool falls_back(const Package& package, const std::string& path) {
  const Distribution& d = package.distribution;
  for (const Knowledge* const row : known_of(d.name, d.version, Knowledge::Kind::kFallsBack))
    if (matches(row->files, path)) return true;
  return false;
}

bool is_on_torch(const Binary& binary) {
  return std::any_of(binary.needed.begin(), binary.needed.end(),
                     [](const auto& l) { return doctor::is_torch_library(l); });
}

/// A library on PyTorch that no import of Python's opens: without a PyTorch nobody loads it.
bool waits_for_torch(const Site& site, const Binary& binary) {
  return site.torch_version().empty() && is_on_torch(binary);
}

/// The package as pip is asked for it: in the version that the one who needs it asks for,
/// "nvidia-cublas-cu12==12.8.4.1", or else PyTorch, which tells the others' versions as well.
std::string as_required(const Site& site, const doctor::TargetReport& report, std::string_view wanted) {
  const std::string project(wanted.substr(0, wanted.find_first_of("<>=!~")));
  std::vector<std::string> texts = {report.target.metadata};
  for (const Package& package : site.packages)
    if (package.distribution.name == "torch") texts.push_back(package.distribution.metadata);
  for (const std::string& text : texts) {
    const auto metadata = doctor::parse_metadata(text);
    if (!metadata) continue;
    for (const doctor::Requirement& one : metadata->requirements) {
      if (one.name != project || one.optional() || one.versions.empty()) continue;
      std::vector<std::string> clauses;
      for (const doctor::Specifier& clause : one.versions) clauses.push_back(clause.text);
      return fmt::format("{}{}", project, fmt::join(clauses, ","));
    }
  }
  return std::string(wanted);
}

/// Libraries that a file opens by a name of its code: no header names them, so that a loader is silent until then.
void check_opened(const Site& site, const Package& package, doctor::TargetReport& report,
                  std::set<std::string>& packages, std::set<std::string>& folders) {
  const Distribution& d = package.distribution;
  for (const Knowledge* const row : known_of(d.name, d.version, Knowledge::Kind::kOpens)) {
    const std::string name(row->other);
    const auto binary = std::find_if(report.target.binaries.begin(), report.target.binaries.end(),
                                     [&](const Binary& b) { return matches(row->files, b.path); });
    if (binary == report.target.binaries.end() || has_library(site, *binary, name)) continue;
    const doctor::CudaLibrary* const known = doctor::find_cuda_library(name, binary->toolkit / 1000);
    if (known == nullptr) continue;
    const bool used = !site.question.gpus.empty();
    report.problems.push_back(
        {"FF330", used ? Severity::kDegrades : Severity::kNote,
         fmt::format("opens {} when it first uses a GPU, which neither this environment nor its system has. {}", name,
                     row->says),
         binary->path, fmt::format("pip install {} (it brings {}/{})", known->package, known->folder, name)});
    if (!used) continue;
    packages.emplace(doctor::shell_word(as_required(site, report, known->package)));
    folders.insert(fmt::format("{}/{}", d.folder, known->folder));
  }
}

}  // namespace

bool has_library(const Site& site, const Binary& binary, const std::string& name) {
  if (!binary.windows) return site.libraries.contains(name);
  return std::any_of(site.libraries.begin(), site.libraries.end(),
                     [wanted = lower(name)](const std::string& l) { return lower(l) == wanted; });
}

std::vector<MissingCuda> missing_libraries(const Site& site, const Binary& binary) {
  std::vector<MissingCuda> missing;
  int cuda = binary.toolkit / 1000;
  for (const std::string& library : binary.needed)
    if (const int major = doctor::cudart_major(library); major != 0) cuda = major;
  for (const std::string& library : binary.needed) {
    const doctor::CudaLibrary* const known =
        doctor::find_cuda_library(binary.windows ? dynamic_loader::soname_of_dll(library) : library, cuda);
    if (known == nullptr || has_library(site, binary, library)) continue;
    std::string folder(known->folder);
    // Their packages for Windows have them in bin.
    if (binary.windows) folder.replace(folder.rfind('/') + 1, std::string::npos, "bin");
    missing.push_back({printable(library), std::move(folder), known->package});
  }
  return missing;
}

void check_missing_libraries(const Site& site, const Package& package, doctor::TargetReport& report) {
  const bool chooses = doctor::knowledge_data().chooses_itself(package.distribution.name);
  std::erase_if(report.problems, [](const Problem& p) { return p.code == "FF330" || p.code == "FF332"; });
  // A runtime of another CUDA than torch's is no harm where it is there, or is named as missing below.
  for (Problem& p : report.problems) {
    if (p.code != "FF405") continue;
    const auto binary = std::find_if(report.target.binaries.begin(), report.target.binaries.end(),
                                     [&](const Binary& b) { return b.path == p.member; });
    const bool runtime = binary != report.target.binaries.end() &&
                         std::any_of(binary->needed.begin(), binary->needed.end(),
                                     [](const std::string& l) { return doctor::cudart_major(l) != 0; });
    if (runtime && p.message.find("built for the CPU") == std::string::npos) p.severity = Severity::kNote;
  }
  std::set<std::string> packages, folders, said;
  for (const Binary& binary : report.target.binaries) {
    const bool imported = is_module(binary);
    // Who picks kernels by the GPU opens libraries by what is there, too; an extension of PyTorch is loaded whole.
    const bool opened_if_there = chooses && !is_on_torch(binary);
    if (falls_back(package, binary.path)) continue;
    for (const MissingCuda& library : missing_libraries(site, binary)) {
      if (!said.emplace(library.name).second) continue;
      report.problems.push_back(
          {"FF330",
           opened_if_there || (!imported && waits_for_torch(site, binary)) ? Severity::kNote
           : imported                                                      ? Severity::kMisfit
                                                                           : Severity::kDegrades,
           fmt::format("needs {}, which neither this environment nor its system has", library.name), binary.path,
           fmt::format("pip install {} (it brings {}/{})", library.package, library.folder, library.name)});
      if (opened_if_there) continue;
      packages.emplace(doctor::shell_word(as_required(site, report, library.package)));
      if (!binary.windows) folders.insert(fmt::format("{}/{}", package.distribution.folder, library.folder));
    }
  }
  check_opened(site, package, report, packages, folders);
  if (packages.empty() || !report.mend.empty()) return;
  report.mend = fmt::format("pip install {}", fmt::join(packages, " "));
  report.mend_why = folders.empty() ? "brings what is missing"
                                    : fmt::format(
                                          "brings what is missing; if the loader does not look there by itself: "
                                          "LD_LIBRARY_PATH={}",
                                          fmt::join(folders, ":"));
}

}  // namespace flashfit::doctor::environment
