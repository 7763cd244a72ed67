#pragma once
// Which requests of one list ask for releases of the same package that exclude each other, by what is known of their
// releases (knowledge_data().companions).
#include <cstddef>
#include <vector>

#include "doctor/requests/by_base.hpp"
#include "doctor/rules/question.hpp"
#include "doctor/rules/report.hpp"

namespace flashfit::doctor::requests {

struct Conflict {
  std::size_t request = 0;  ///< its place in the list
  doctor::Problem problem;
};

/// A request of the list under another version, as a remedy would change it.
struct Change {
  std::size_t place = 0;
  doctor::Requirement package;
};

/// The requests among `places` that are compared: those that hold, for packages of which something is known.
Places compared(const RequestList& list, const Places& places, const doctor::Question& question);

/// Conflicts among compared(), each said once, at the request that is the one to change. `change` may be null.
std::vector<Conflict> find_conflicts(const RequestList& list, const Places& compared, const doctor::Question& question,
                                     const Change* change);

/// The releases of PyTorch that compared() requests leave together, the newest first: what installers choose from.
std::vector<doctor::Version> torches_left(const RequestList& list, const Places& compared,
                                          const doctor::Question& question);

/// Whether a request's marker holds there, as far as that is known.
bool holds(const Request& request, const doctor::Question& question);

}  // namespace flashfit::doctor::requests
