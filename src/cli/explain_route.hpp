#pragma once
#include "cli/command.hpp"

namespace flashfit::cli {

/// Adds `moe.route` to the subcommand `explain`.
void add_explain_route(CLI::App& explain, int& status);

}  // namespace flashfit::cli
