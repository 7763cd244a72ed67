#pragma once
// Packages of one list that do not go together, by name, and the release that would: pip finds no versions for them, or
// an import crashes, or one of them runs without the GPU.
#include <cstddef>
#include <optional>
#include <vector>

#include "doctor/requests/conflicts.hpp"

namespace flashfit::doctor::requests {

/// Requests of one list for such packages. Each is compared with some hundred releases; real lists have some dozens.
inline constexpr std::size_t kMostCompared = 2000;

/// Of the requests of one base, `places`; what one of them asks of the PyTorch that `question` has, too. Nothing: there
/// are more than `left` to compare, which is lessened by what is.
std::optional<std::vector<Conflict>> companion_conflicts(const RequestList& list, const Places& places,
                                                         const doctor::Question& question, std::size_t& left);

/// Whether companion_conflicts() judges what a request asks of PyTorch.
bool has_companion(const Request& request);

}  // namespace flashfit::doctor::requests
