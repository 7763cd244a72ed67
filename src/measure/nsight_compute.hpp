#pragma once
// Nsight Compute, NVIDIA's profiler of kernels, as the program ncu: what it counts of one launch of another program.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace flashfit::measure {

class NsightCompute {
 public:
  /// ncu in the PATH, or where the CUDA toolkit puts it. Error: there is none, or it does not run.
  static Result<NsightCompute> find();

  const std::string& version() const { return version_; }  ///< "2025.3.1.0"

  /// Metrics of the first launch of a kernel whose name holds `kernel`, each {value, unit} in base units (ns, byte);
  /// what this GPU or this ncu does not have is left out. `command` is run several times as fast as it ends.
  /// Errors: Code::kMisfit where ncu cannot count on this machine at all, in a line that says why;
  /// Code::kInternal where this command launched no such kernel.
  Result<nlohmann::ordered_json> count(const std::string& kernel, const std::vector<std::string>& command) const;

 private:
  std::string program_, version_;
};

/// The first kernel's row of `ncu --csv --page raw`: the numbers of `metrics`, with units. Error: there is none.
Result<nlohmann::ordered_json> metrics_of(const std::string& csv);

}  // namespace flashfit::measure
