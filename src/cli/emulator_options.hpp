#pragma once
// The options of every `flashfit emulate` that say how a kernel is run.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "proof/emu/options.hpp"

namespace flashfit::cli {

struct EmulatorOptions {
  std::string schedule = "random";
  std::int64_t seed = 1, repeat = 1, threads = 0;
  bool json = false;

  void add_to(CLI::App& app);
  /// One for each seed, of a kernel that may have so much shared memory.
  std::vector<emu::Options> runs(std::size_t shared_limit) const;
};

}  // namespace flashfit::cli
