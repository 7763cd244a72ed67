#pragma once
#include "cli/command.hpp"

namespace flashfit::cli {

/// Adds `moe.experts` to the subcommand `explain`.
void add_explain_experts(CLI::App& explain, int& status);

}  // namespace flashfit::cli
