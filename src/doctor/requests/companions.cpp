#include "doctor/requests/companions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/base/printable.hpp"
#include "doctor/knowledge/data.hpp"
#include "doctor/packaging/same_release.hpp"
#include "doctor/requests/by_name.hpp"
#include "doctor/requests/known_versions.hpp"

namespace flashfit::doctor::requests {
namespace {

using doctor::Companion;
using doctor::CompanionRelease;
using doctor::Version;

/// Of a package that works beside the same release of another alone (Knowledge::Kind::kOnlyBeside, kRefusedBeside).
void add_other_releases(const RequestList& list, const Places& places, const doctor::Question& question,
                        const doctor::PackageRow& row, std::vector<Conflict>& conflicts) {
  const std::string &package = row.at("package"), &other = row.at("other");
  constexpr std::size_t kMostOfEach = 64;
  Places ours, theirs;
  for (const std::size_t i : places) {
    const Request& request = list.requests[i];
    if (request.package.name != package && request.package.name != other) continue;
    Places& those = request.package.name == package ? ours : theirs;
    if (those.size() < kMostOfEach && pinned(request.package) && holds(request, question)) those.push_back(i);
  }
  for (const std::size_t i : ours)
    for (const std::size_t beside : theirs) {
      const std::string mine = pinned(list.requests[i].package)->text,
                        text = pinned(list.requests[beside].package)->text;
      if (doctor::same_release(mine, text)) continue;
      const bool refused = row.at("kind") == "refused_beside";
      const std::string what =
          refused ? fmt::format("keeps {} from starting, which takes it in its own release alone", other)
                  : fmt::format("runs, but on the CPU: works beside {} {} alone", other, printable(mine));
      conflicts.push_back(
          {i,
           {refused ? "FF406" : "FF712", refused ? doctor::Severity::kMisfit : doctor::Severity::kDegrades,
            fmt::format("{}, and line {} asks for {}", what, list.requests[beside].line,
                        printable(list.requests[beside].text, 100)),
            "", fmt::format("{}=={}{}", package, printable(text), doctor::local_part_of(mine))}});
    }
}

/// Of two packages that have files of the same names (Knowledge::Kind::kClashes): said at the later one.
void add_clashes(const RequestList& list, const Places& places, const doctor::Question& question,
                 const doctor::PackageRow& row, std::vector<Conflict>& conflicts) {
  const auto place_of = [&](const std::string& name) {
    return std::find_if(places.begin(), places.end(), [&](std::size_t i) {
      return list.requests[i].package.name == name && holds(list.requests[i], question);
    });
  };
  const std::string &package = row.at("package"), &other = row.at("other");
  const auto ours = place_of(package), theirs = place_of(other);
  if (ours == places.end() || theirs == places.end()) return;
  const std::size_t first = std::min(*ours, *theirs), later = std::max(*ours, *theirs);
  conflicts.push_back({later,
                       {"FF713", doctor::Severity::kDegrades,
                        fmt::format("is installed into the folder of line {}, {}: what is installed last wins. \"{}\"",
                                    list.requests[first].line, printable(list.requests[first].text, 100),
                                    row.contains("says") ? row.at("says") : ""),
                        "", fmt::format("{} or {}, not both", package, other)}});
}

/// Releases of the package that may go with the others, the newest first.
std::vector<Version> releases_of(const std::string& package) {
  std::vector<Version> all = every_named(package);
  for (const Companion& companion : doctor::knowledge_data().companions)
    if (companion.package == package)
      for (const CompanionRelease& release : companion.releases)
        if (auto version = doctor::parse_version(release.release)) all.push_back(std::move(*version));
  doctor::sort_newest_first(all);
  return all;
}

/// The release that mends it by the same rules: nothing stands against it, and against no other request that nothing
/// stood against before. "" if none does.
std::string release_that_fits(const RequestList& list, const Places& compared, const doctor::Question& question,
                              const std::vector<Conflict>& before, std::size_t place) {
  constexpr std::size_t kMostTried = 100;
  const auto stands = [](const std::vector<Conflict>& conflicts, std::size_t request) {
    return std::any_of(conflicts.begin(), conflicts.end(), [&](const Conflict& c) { return c.request == request; });
  };
  const std::string& name = list.requests[place].package.name;
  std::vector<Version> releases = releases_of(name);
  releases.resize(std::min(releases.size(), kMostTried));
  for (const Version& version : releases) {
    const std::string release = name + "==" + version.text;
    const auto package = doctor::parse_requirement(release);
    if (!package) continue;
    const Change change{place, *package};
    const std::vector<Conflict> after = find_conflicts(list, compared, question, &change);
    if (!std::all_of(after.begin(), after.end(),
                     [&](const Conflict& c) { return c.request != place && stands(before, c.request); }))
      continue;
    const auto labels = label_problems(*package, question);
    if (std::none_of(labels.begin(), labels.end(),
                     [](const Problem& p) { return p.severity > doctor::Severity::kNote && p.code != "FF406"; }))
      return release;
  }
  return "";
}

}  // namespace

bool has_companion(const Request& request) {
  const auto& all = doctor::knowledge_data().companions;
  return request.package.url.empty() && std::any_of(all.begin(), all.end(), [&](const Companion& companion) {
           return companion.package == request.package.name && companion.other == "torch";
         });
}

std::optional<std::vector<Conflict>> companion_conflicts(const RequestList& list, const Places& places,
                                                         const doctor::Question& question, std::size_t& left) {
  constexpr std::size_t kMostRemedies = 16;
  const Places those = compared(list, places, question);
  if (those.size() > left) return std::nullopt;
  left -= those.size();
  std::vector<Conflict> conflicts = find_conflicts(list, those, question, nullptr);
  const std::vector<Conflict> before = conflicts;
  for (std::size_t i = 0; i < std::min(conflicts.size(), kMostRemedies); ++i)
    if (std::string fix = release_that_fits(list, those, question, before, conflicts[i].request); !fix.empty())
      conflicts[i].problem.fix = std::move(fix);
  for (const doctor::PackageRow& row : doctor::knowledge_data().packages)
    if (row.at("kind") == "only_beside" || row.at("kind") == "refused_beside") {
      add_other_releases(list, places, question, row, conflicts);
    } else if (row.at("kind") == "clashes") {
      add_clashes(list, places, question, row, conflicts);
    }
  return conflicts;
}

}  // namespace flashfit::doctor::requests
