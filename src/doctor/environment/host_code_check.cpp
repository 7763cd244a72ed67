// FF710, FF712: what a package's own code decides, whatever images it has: GPUs that it refuses, and what it does
// without where a library cannot be loaded, or another package is of another release.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "core/base/printable.hpp"
#include "doctor/bytes/listing.hpp"
#include "doctor/environment/site.hpp"
#include "doctor/knowledge/package_rows.hpp"
#include "doctor/mends/mends.hpp"
#include "doctor/packaging/same_release.hpp"

namespace flashfit::doctor::environment {
namespace {

using Kind = Knowledge::Kind;

void refuses(const Site& site, const Package& package, const Knowledge& row, doctor::TargetReport& report) {
  for (const doctor::AskedGpu& gpu : site.question.gpus) {
    if (names_gpu(row.gpus, gpu.gpu.cc) || site.question.survey) continue;
    const Distribution& d = package.distribution;
    report.problems.push_back(
        {"FF710", Severity::kMisfit,
         fmt::format("refuses {} in its own code, whatever it was compiled for: \"{}\"", gpu_text(gpu), row.says), "",
         std::string(row.fix)});
    // A later version that no row refuses.
    const std::size_t below = row.versions.find('<');
    if (below == std::string_view::npos || !report.mend.empty()) return;
    const std::string later(row.versions.substr(below + 1));
    for (const Knowledge* const other : known_of(d.name, later, Kind::kRefuses))
      if (!names_gpu(other->gpus, gpu.gpu.cc)) return;
    report.mend = fmt::format("pip install --no-build-isolation '{}>={}'", d.name, later);
    report.mend_why = fmt::format("{} {} and later know {}; where no wheel fits it is compiled, which needs nvcc",
                                  d.name, later, gpu_text(gpu));
    return;
  }
}

void falls_back(const Site& site, const Knowledge& row, doctor::TargetReport& report) {
  for (const Binary& binary : report.target.binaries) {
    if (!matches(row.files, binary.path)) continue;
    std::vector<std::string> missing;
    std::set<std::string> packages;
    for (const MissingCuda& library : missing_libraries(site, binary)) {
      missing.push_back(library.name);
      packages.emplace(library.package);
    }
    if (missing.empty()) continue;
    report.problems.push_back(
        {"FF712", Severity::kDegrades,
         fmt::format("runs, but on the CPU: it needs {}, which neither this environment nor its system "
                     "has, and goes on without. {}",
                     doctor::listed(missing, 6), row.says),
         binary.path, fmt::format("pip install {}", fmt::join(packages, " "))});
    if (!report.mend.empty()) continue;
    report.mend = fmt::format("pip install {}", fmt::join(packages, " "));
    report.mend_why =
        "brings the libraries of CUDA that it was built with; onnxruntime.preload_dlls() finds them there";
  }
}

/// A package that goes with the same release of another alone: without it the program does without the GPU, or does not
/// start.
void only_beside(const Site& site, const Package& package, const Knowledge& row, doctor::TargetReport& report) {
  const Package* const other = site.find(row.other);
  const Distribution& d = package.distribution;
  if (other == nullptr || doctor::same_release(d.version, other->distribution.version)) return;
  const std::string& theirs = other->distribution.version;
  const bool refused = row.kind == Kind::kRefusedBeside;
  const std::string what =
      refused ? fmt::format("keeps {} from starting, which takes it in its own release alone", row.other)
              : fmt::format("runs, but on the CPU: works beside {} {} alone", row.other, printable(d.version));
  report.problems.push_back({refused ? "FF406" : "FF712", refused ? Severity::kMisfit : Severity::kDegrades,
                             fmt::format("{}, and {} is installed. {}", what, printable(theirs), row.says), "",
                             fmt::format("{}=={}{}", d.name, printable(theirs), doctor::local_part_of(d.version))});
  // What has a label is of an index of its maker's, which pip does not ask.
  if (!report.mend.empty() || !doctor::local_part_of(d.version).empty()) return;
  report.mend = fmt::format("pip install {}", doctor::shell_word(fmt::format("{}=={}", d.name, theirs)));
  report.mend_why = fmt::format("the release for {} {}", row.other, printable(theirs));
}

}  // namespace

void check_host_code(const Site& site, const Package& package, doctor::TargetReport& report) {
  const Distribution& d = package.distribution;
  for (const Knowledge* const row : known_of(d.name, d.version, Kind::kRefuses)) refuses(site, package, *row, report);
  for (const Knowledge* const row : known_of(d.name, d.version, Kind::kFallsBack)) falls_back(site, *row, report);
  for (const Kind kind : {Kind::kOnlyBeside, Kind::kRefusedBeside})
    for (const Knowledge* const row : known_of(d.name, d.version, kind)) only_beside(site, package, *row, report);
}

}  // namespace flashfit::doctor::environment
