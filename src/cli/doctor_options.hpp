#pragma once
// The options of `doctor` and `choose`: from words to a question.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "inspect/doctor.hpp"

namespace flashfit::cli {

struct DoctorOptions {
  std::vector<std::string> targets;
  std::vector<std::string> gpus;
  std::string driver, python, torch, glibc, platform, html;
  bool json = false, verbose = false, no_cache = false;

  void add_to(CLI::App& app);
  /// wrong() where an option is. `assumed` gets a line for each thing that was not given and is taken from this
  /// machine, or not judged.
  inspect::Question question(std::vector<std::string>& assumed) const;
  inspect::DoctorOptions how() const;
};

}  // namespace flashfit::cli
