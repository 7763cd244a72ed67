#pragma once
// What NVML, the driver's management library, says of a GPU. It is opened at run time, declared here as nvml.h has it,
// and used for nothing that a call of flashfit needs.
#include <optional>
#include <string>
#include <vector>

namespace flashfit {

/// A GPU by its PCI bus. Where the library, the GPU or a function is missing, every answer is empty.
class Nvml {
 public:
  /// "0000:3b:00.0", as pci_bus_id() gives it.
  explicit Nvml(const std::string& pci_bus_id);

  bool there() const { return gpu_ != nullptr; }
  std::optional<double> sm_clock_max_mhz() const { return clock_max_mhz(1); }      ///< NVML_CLOCK_SM
  std::optional<double> memory_clock_max_mhz() const { return clock_max_mhz(2); }  ///< NVML_CLOCK_MEM
  std::optional<double> power_limit_w() const;
  /// Why clocks are held back just now, of the reasons that slow a measurement: idle and the clocks that applications
  /// asked for are none.
  std::vector<std::string> throttled() const;

 private:
  std::optional<double> clock_max_mhz(int which) const;

  void* library_;
  void* gpu_ = nullptr;
};

}  // namespace flashfit
