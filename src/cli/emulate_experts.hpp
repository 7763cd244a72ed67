#pragma once
#include "cli/command.hpp"

namespace flashfit::cli {

/// Adds `moe.experts` to the subcommand `emulate`.
void add_emulate_experts(CLI::App& emulate, int& status);

}  // namespace flashfit::cli
