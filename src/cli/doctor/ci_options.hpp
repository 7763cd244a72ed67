#pragma once
// The options of `doctor` that are for use in CI.
#include <utility>

#include "cli/doctor/options.hpp"

namespace flashfit::cli {

struct CiOptions {
  std::string policy, format = "text";
  bool fetch = false;

  void add_to(CLI::App& app);
  /// The options of each machine of the policy, which go before those given, by name; without a policy those given, by
  /// "". wrong() where the policy is, or does not go with another option.
  std::vector<std::pair<std::string, DoctorOptions>> machines(const DoctorOptions& given) const;
};

}  // namespace flashfit::cli
