#pragma once
// flashfit emulate --ptx: anybody's PTX, run on the CPU.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/emulate_options.hpp"

namespace flashfit::cli {

struct PtxOptions {
  std::string file, entry, grid = "1", block;
  std::vector<std::string> arguments, saved;
  std::int64_t shared_bytes = 0, cluster = 0, instructions = std::int64_t{1} << 32;

  void add_to(CLI::App& app);
};

/// wrong() if options were given that the other way of running has: a problem's with --ptx, PTX's without.
void check_options(const CLI::App& app, bool is_ptx);

/// Runs the file's entry as often as `how` says. The exit status.
int run_ptx(const PtxOptions& options, const EmulateOptions& e);

}  // namespace flashfit::cli
