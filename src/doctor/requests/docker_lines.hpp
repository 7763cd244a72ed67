#pragma once
// The instructions of a Dockerfile: lines joined, here-documents taken in, and what RUN runs.
#include <vector>

#include "doctor/requests/words.hpp"

namespace flashfit::doctor::requests {

/// One line an instruction; a here-document is a part of its instruction, behind a new line. The first lines may set
/// another escape: "# escape=`". Errors: those of logical_lines().
Result<std::vector<LogicalLine>> docker_lines(std::string_view text);

/// What RUN runs: a shell's commands, those of its here-documents, or the one of a JSON array. Its own options
/// (--mount) are left out.
std::vector<Command> run_commands(const LogicalLine& line, std::size_t from);

}  // namespace flashfit::doctor::requests
