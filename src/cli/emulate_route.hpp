#pragma once
#include "cli/command.hpp"

namespace flashfit::cli {

/// Adds `moe.route` to the subcommand `emulate`.
void add_emulate_route(CLI::App& emulate, int& status);

}  // namespace flashfit::cli
