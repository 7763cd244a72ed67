#pragma once
// Versions of packages as far as they are known, to see whether what several requests take has one in common.
#include <string_view>
#include <vector>

#include "doctor/knowledge/data.hpp"
#include "doctor/packaging/requirement.hpp"

namespace flashfit::doctor::requests {

/// The releases of `other` that packages ask for by number, the newest first.
std::vector<doctor::Version> every_named(std::string_view other);

/// Of a package whose releases are not known: such versions that sets of clauses, those known of other packages and
/// the `wishes`, have one of them in common if they have any. Some may not exist. The newest first.
std::vector<doctor::Version> possible_versions(std::string_view other, const std::vector<doctor::Specifiers>& wishes);

/// Whether the request takes one of these releases, of which the clauses' own versions and the newest are known.
bool may_take(const doctor::Requirement& request, const doctor::CompanionRelease& releases);

/// Whether it may take a release that is newer than all that are known.
bool takes_newer(const doctor::Requirement& request);

}  // namespace flashfit::doctor::requests
