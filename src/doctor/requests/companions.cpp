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

/// Of a package that works beside the same release of another alone (Knowledge::Kind::kOnlyBeside).
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
      conflicts.push_back(
          {i,
           {"FF712", doctor::Severity::kDegrades,
            fmt::format("runs, but on the CPU: works beside {} {} alone, and line {} asks for {}", other,
                        printable(mine), list.requests[beside].line, printable(list.requests[beside].text, 100)),
            "", fmt::format("{}=={}", package, printable(text))}});
    }
}

/// Releases of the package that may go with the others, the newest first, as requirements: "torchvision==0.24.1".
std::vector<std::string> releases_of(const std::string& package) {
  std::vector<std::string> all;
  for (const Companion& companion : doctor::knowledge_data().companions)
    if (companion.package == package)
      for (const CompanionRelease& release : companion.releases) all.push_back(package + "==" + release.release);
  for (const Version& version : every_named(package)) all.push_back(package + "==" + version.text);
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
  std::vector<std::string> releases = releases_of(list.requests[place].package.name);
  releases.resize(std::min(releases.size(), kMostTried));
  for (const std::string& release : releases) {
    auto package = doctor::parse_requirement(release);
    if (!package) continue;
    const auto labels = label_problems(*package, question);
    if (std::any_of(labels.begin(), labels.end(),
                    [](const Problem& p) { return p.severity > doctor::Severity::kNote && p.code != "FF406"; }))
      continue;
    const Change change{place, std::move(*package)};
    const std::vector<Conflict> after = find_conflicts(list, compared, question, &change);
    if (std::all_of(after.begin(), after.end(),
                    [&](const Conflict& c) { return c.request != place && stands(before, c.request); }))
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
    conflicts[i].problem.fix = release_that_fits(list, those, question, before, conflicts[i].request);
  for (const doctor::PackageRow& row : doctor::knowledge_data().packages)
    if (row.at("kind") == "only_beside") add_other_releases(list, places, question, row, conflicts);
  return conflicts;
}

}  // namespace flashfit::doctor::requests
