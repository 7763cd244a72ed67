#include "doctor/requests/known_versions.hpp"

#include <algorithm>

#include "doctor/requests/by_name.hpp"

namespace flashfit::doctor::requests {

using doctor::Companion;
using doctor::CompanionRelease;
using doctor::Requirement;
using doctor::Version;

std::vector<Version> every_named(std::string_view other) {
  std::vector<Version> all;
  for (const Companion& companion : doctor::knowledge_data().companions)
    if (companion.other == other)
      for (const CompanionRelease& release : companion.releases)
        for (const doctor::Specifier& clause : release.other)
          if (refusing(release.other, clause.version) == nullptr) all.push_back(clause.version);
  doctor::sort_newest_first(all);
  return all;
}

std::vector<Version> possible_versions(std::string_view other, const std::vector<doctor::Specifiers>& wishes) {
  std::vector<Version> all;
  const auto& known = doctor::knowledge_data().ends;
  if (const auto found = known.find(other); found != known.end()) all = found->second;
  all.push_back(doctor::parse_version("0").value_or(Version{}));
  for (const doctor::Specifiers& wish : wishes) doctor::add_ends(wish, all);
  doctor::sort_newest_first(all);
  return all;
}

bool may_take(const Requirement& request, const CompanionRelease& releases) {
  if (const auto one = pinned(request)) return refusing(releases.versions, one->public_part()) == nullptr;
  std::vector<Version> known;
  if (auto newest = doctor::parse_version(releases.release)) known.push_back(std::move(*newest));
  for (const doctor::Specifier& clause : releases.versions)
    if (refusing(releases.versions, clause.version) == nullptr) known.push_back(clause.version);
  return std::any_of(known.begin(), known.end(),
                     [&](const Version& version) { return refusing(request.versions, version) == nullptr; });
}

bool takes_newer(const Requirement& request) {
  static const Version kFuture = doctor::parse_version("999999").value_or(Version{});
  return refusing(request.versions, kFuture) == nullptr;
}

}  // namespace flashfit::doctor::requests
