#pragma once
// Whether requests for PyTorch leave any of its releases.
#include <optional>

#include "doctor/requests/by_base.hpp"
#include "doctor/rules/report.hpp"

namespace flashfit::doctor::requests {

/// FF755 of a request that no release serves; unsettled where only a release that is not known yet would serve it.
/// Nothing where a known release does, and of one version that is pinned: whether it exists is another question.
std::optional<doctor::Problem> bounds_problem(const doctor::Requirement& package);

/// One of several requests that installers take together, which no release serves beside those before it.
struct OutOfBounds {
  std::size_t place = 0;  ///< in the list
  doctor::Problem problem;
};

/// The first of the requests at these places that leaves nothing of what those before it left.
std::optional<OutOfBounds> out_of_bounds(const RequestList& list, const Places& places);

}  // namespace flashfit::doctor::requests
