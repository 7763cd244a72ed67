#pragma once
// Lists as targets: a path and a question to reports, one a file.
#include <string>
#include <vector>

#include "doctor/requests/judge_list.hpp"

namespace flashfit::doctor::requests {

/// The report of the list and, behind it, those of the lists that it includes. An included file is read only if it lies
/// in the folder of the list that was given (links followed), at most kMostIncluded of them; what is not read is a
/// problem of the line that names it. A Dockerfile's includes are files of its build's context: its own folder.
std::vector<ListReport> examine_list(const std::string& path, ListKind kind, const doctor::Question& asked,
                                     const ListOptions& options);

inline constexpr std::size_t kMostIncluded = 64;

}  // namespace flashfit::doctor::requests
