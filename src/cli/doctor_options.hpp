#pragma once
// The options of `doctor` and `choose`: from words to a question.
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "environment/environment.hpp"
#include "inspect/doctor.hpp"

namespace flashfit::cli {

struct DoctorOptions {
  std::vector<std::string> targets;
  std::vector<std::string> gpus;
  std::optional<std::string> error;  ///< of `doctor` alone: a text, a file or "-"
  std::string driver, python, torch, glibc, platform, html;
  std::string env, root = "/";
  bool json = false, verbose = false, no_cache = false, probe = false;

  void add_to(CLI::App& app);
  /// wrong() where an option is. `assumed` gets a line for each thing that was not given and is taken from this
  /// machine, or not judged.
  inspect::Question question(std::vector<std::string>& assumed) const;
  inspect::DoctorOptions how() const;
  /// The options of an environment, for `doctor` alone.
  void add_environment_to(CLI::App& app);
  /// What was given, and no more: the rest is the environment's own. Asks the live driver in a child process, unless
  /// another machine was described, so call it before threads are started.
  environment::EnvironmentQuestion environment_question() const;

 private:
  /// What of the question was given.
  inspect::Question given() const;
};

}  // namespace flashfit::cli
