// FF709, FF713: packages that share files or go by an old name, and rows of what is known that a package outgrew.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "doctor/environment/site.hpp"
#include "doctor/knowledge/package_rows.hpp"
#include "doctor/packaging/version.hpp"

namespace flashfit::doctor::environment {
namespace {

using Kind = Knowledge::Kind;

/// Whether the row says anything of a newer release than it was held against: patches apart.
bool is_newer(const std::string& version, std::string_view checked) {
  const auto installed = doctor::parse_version(version), known = doctor::parse_version(checked);
  if (!installed || !known) return false;
  const auto part = [](const doctor::Version& v, std::size_t i) { return v.release.size() > i ? v.release[i] : 0; };
  return std::pair(part(*installed, 0), part(*installed, 1)) > std::pair(part(*known, 0), part(*known, 1));
}

void note_outdated(const Package& package, const Knowledge& row, doctor::TargetReport& report) {
  const Distribution& d = package.distribution;
  const auto note = [&](std::string message) {
    report.problems.push_back({"FF709", Severity::kNote, std::move(message), "", "flashfit of a later date"});
  };
  if (!row.checked.empty() && is_newer(d.version, row.checked))
    note(fmt::format("what is known of {} was held against {}, and {} is newer ({})", d.name, row.checked, d.version,
                     row.source));
  const bool files = row.files.find('/') != std::string_view::npos && !package.files.empty() &&
                     row.kind != Kind::kPicksByGpu && row.kind != Kind::kOnlyOn;
  if (files && std::none_of(package.files.begin(), package.files.end(),
                            [&](const FileFacts& f) { return matches(row.files, package.relative(f.path)); }))
    note(fmt::format("{} has no file {}, which is known to be in it ({})", d.name, row.files, row.source));
}

void clashes(const Site& site, const Package& package, doctor::TargetReport& report) {
  const Distribution& d = package.distribution;
  for (const Knowledge* const row : known_of(d.name, d.version, Kind::kClashes)) {
    if (site.find(row->other) == nullptr) continue;
    report.problems.push_back(
        {"FF713", Severity::kDegrades,
         fmt::format("{} and {} are installed into one folder: what was installed last wins. \"{}\"", d.name,
                     row->other, row->says),
         "", std::string(row->fix)});
    if (report.mend.empty()) {
      report.mend = fmt::format("pip uninstall -y {1} {0} && pip install {0}", d.name, row->other);
      report.mend_why = "one of them alone has its files whole";
    }
    return;
  }
  std::set<std::string> others;
  for (const auto& [path, other] : package.shared) others.insert(other);
  for (const std::string& other : others) {
    const auto first =
        std::find_if(package.shared.begin(), package.shared.end(), [&](const auto& s) { return s.second == other; });
    report.problems.push_back({"FF713", Severity::kNote,
                               fmt::format("{} has files of the same names: what was installed last wins", other),
                               package.relative(first->first),
                               fmt::format("pip uninstall -y {} {}, then the one that is wanted", d.name, other)});
  }
}

}  // namespace

void check_names(const Site& site, const Package& package, doctor::TargetReport& report) {
  const Distribution& d = package.distribution;
  clashes(site, package, report);
  for (const Knowledge* const row : known_of(d.name, d.version, Kind::kRenamed))
    report.problems.push_back({"FF713", Severity::kNote, fmt::format("{} is now {}", d.name, row->other), "",
                               fmt::format("pip install {}", row->other)});
  for (const Knowledge& row : knowledge()) {
    const auto rows = known_of(d.name, d.version, row.kind);
    if (std::find(rows.begin(), rows.end(), &row) != rows.end()) note_outdated(package, row, report);
  }
}

}  // namespace flashfit::doctor::environment
