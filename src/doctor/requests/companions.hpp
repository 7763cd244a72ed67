#pragma once
// Packages of one list that are built for different PyTorchs, by name: pip finds no versions that go together, and
// without its check the import crashes.
#include <cstddef>
#include <vector>

#include "doctor/requests/request.hpp"
#include "doctor/rules/question.hpp"
#include "doctor/rules/report.hpp"

namespace flashfit::doctor::requests {

struct Conflict {
  std::size_t request = 0;  ///< in the list
  doctor::Problem problem;
};

/// Of the requests of one base. What one version pinned beside another says is judged with the request itself.
std::vector<Conflict> companion_conflicts(const RequestList& list, std::size_t base, const doctor::Question& question);

}  // namespace flashfit::doctor::requests
