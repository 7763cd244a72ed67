#pragma once
// NVML, the driver's management library, opened at run time. Where it, the GPU or a function is missing, every answer
// is empty. Names and values are those of nvml.h.
#include <optional>
#include <string>
#include <vector>

namespace flashfit::bench {

class Nvml {
 public:
  /// The GPU by its PCI bus, "0000:3b:00.0".
  explicit Nvml(const std::string& pci_bus_id);

  bool there() const { return gpu_ != nullptr; }
  std::optional<double> sm_clock_max_mhz() const { return clock_max_mhz(1); }
  std::optional<double> memory_clock_max_mhz() const { return clock_max_mhz(2); }
  std::optional<double> power_limit_w() const;
  /// Why clocks are held back just now; what is asked for by people or idleness is left out.
  std::vector<std::string> throttled() const;

 private:
  std::optional<double> clock_max_mhz(int which) const;

  void* library_ = nullptr;
  void* gpu_ = nullptr;
};

}  // namespace flashfit::bench
