#pragma once
// What a fleet's machines are, for use in CI: a TOML or JSON file with a table for each kind of machine.
//
//   [[machine]]
//   name = "training"
//   gpus = ["H100", "L40"]
//   driver = "550"
//   python = "3.11"
//   platform = "linux_x86_64"
//   glibc = "2.35"
//   torch = "2.6.0+cu124"
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace flashfit::doctor::requests {

/// As the options of the same names take them; "" and empty are "not said".
struct PolicyMachine {
  std::string name;
  std::vector<std::string> gpus;
  std::string driver, python, platform, glibc, torch;
};

inline constexpr std::size_t kMostMachines = 256, kMostGpus = 64;

/// Error: one line that names the key, its value and what is accepted. Values are checked by who uses them.
Result<std::vector<PolicyMachine>> parse_policy(std::string_view text, bool json);

/// From a file: JSON if its name ends so, else TOML. Error: as before, or the file cannot be read.
Result<std::vector<PolicyMachine>> read_policy(const std::string& path);

}  // namespace flashfit::doctor::requests
