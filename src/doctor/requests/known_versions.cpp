#include "doctor/requests/known_versions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "doctor/knowledge/torch_releases.hpp"
#include "doctor/requests/by_name.hpp"

namespace flashfit::doctor::requests {
namespace {

using doctor::Companion;
using doctor::CompanionRelease;
using doctor::Requirement;
using doctor::Version;

void sort_newest_first(std::vector<Version>& versions) {
  std::sort(versions.begin(), versions.end(), [](const Version& a, const Version& b) { return b < a; });
  versions.erase(std::unique(versions.begin(), versions.end()), versions.end());
}

/// Versions at the ends of what clauses take: where sets of clauses have a version in common, one of these is in all.
void add_ends(const doctor::Specifiers& clauses, std::vector<Version>& ends) {
  for (const doctor::Specifier& clause : clauses) {
    Version above = clause.version;
    above.release.insert(above.release.end(), {0, 0, 0, 1});
    above.pre.reset();
    above.post.reset();
    above.dev.reset();
    ends.push_back(clause.version);
    ends.push_back(std::move(above));
  }
}

}  // namespace

std::vector<Version> every_torch() {
  std::vector<Version> all;
  for (const doctor::TorchRelease& release : doctor::torch_releases())
    for (std::uint64_t patch = 0; patch <= release.last_patch; ++patch)
      if (auto version = doctor::parse_version(fmt::format("{}.{}.{}", release.major, release.minor, patch)))
        all.push_back(std::move(*version));
  std::reverse(all.begin(), all.end());
  return all;
}

std::vector<Version> every_named(std::string_view other) {
  std::vector<Version> all;
  for (const Companion& companion : doctor::knowledge_data().companions)
    if (companion.other == other)
      for (const CompanionRelease& release : companion.releases)
        for (const doctor::Specifier& clause : release.other)
          if (refusing(release.other, clause.version) == nullptr) all.push_back(clause.version);
  sort_newest_first(all);
  return all;
}

std::vector<Version> possible_versions(std::string_view other, const std::vector<doctor::Specifiers>& wishes) {
  std::vector<Version> all = {doctor::parse_version("0").value_or(Version{})};
  for (const Companion& companion : doctor::knowledge_data().companions)
    if (companion.other == other)
      for (const CompanionRelease& release : companion.releases) add_ends(release.other, all);
  for (const doctor::Specifiers& wish : wishes) add_ends(wish, all);
  sort_newest_first(all);
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
