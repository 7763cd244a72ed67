#pragma once
// The options of `doctor` and `choose`: from words to a question.
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "doctor/environment/environment.hpp"
#include "doctor/examine/examine.hpp"

namespace flashfit::cli {

struct DoctorOptions {
  std::vector<std::string> targets;
  std::vector<std::string> gpus;
  std::optional<std::string> error;  ///< of `doctor` alone: a text, a file or "-"
  std::string driver, python, torch, glibc, platform, html, knowledge;
  std::string env, active, root = "/";
  bool json = false, verbose = false, no_cache = false, probe = false;

  void add_to(CLI::App& app);
  /// wrong() where an option is. `assumed` gets a line for each thing that was not given and is taken from this
  /// machine, or not judged.
  doctor::Question question(std::vector<std::string>& assumed) const;
  doctor::DoctorOptions how() const;
  /// The interpreter that commands for what was asked name; "" where what is in PATH is the one that was meant.
  std::string interpreter(const doctor::Question& asked) const;
  /// The options of an environment, for `doctor` alone.
  void add_environment_to(CLI::App& app);
  /// What was given, and no more: the rest is the environment's own. Asks the live driver in a child process, unless
  /// another machine was described, so call it before threads are started.
  doctor::environment::EnvironmentQuestion environment_question() const;

 private:
  /// What of the question was given.
  doctor::Question given() const;
  /// The variables of this process, with --active for the environment that asks.
  doctor::environment::Variables variables() const;
};

}  // namespace flashfit::cli
