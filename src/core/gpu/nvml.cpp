#include "core/gpu/nvml.hpp"

#include <dlfcn.h>

#include <mutex>

namespace flashfit {
namespace {

template <class... Arguments>
bool call(void* library, const char* name, Arguments... arguments) {
  auto* function = library ? reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name)) : nullptr;
  return function != nullptr && function(arguments...) == 0;
}

// nvmlClocksEventReason*
constexpr struct {
  unsigned long long bit;
  const char* what;
} kReasons[] = {{0x4, "power cap"},
                {0x8, "hardware slowdown"},
                {0x20, "software thermal slowdown"},
                {0x40, "hardware thermal slowdown"},
                {0x80, "power brake"}};

/// Initialised once and never closed: other packages of the process may use it too. nullptr if it cannot be used; the
/// next call tries again.
void* library() {
  static std::mutex mutex;
  static void* initialised = nullptr;
  const std::lock_guard lock(mutex);
  if (initialised) return initialised;
  void* found = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (call(found, "nvmlInit_v2")) initialised = found;
  return initialised;
}

}  // namespace

Nvml::Nvml(const std::string& pci_bus_id) : library_(library()) {
  if (!call(library_, "nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str(), &gpu_)) gpu_ = nullptr;
}

std::optional<double> Nvml::clock_max_mhz(int which) const {
  unsigned mhz = 0;
  if (!there() || !call(library_, "nvmlDeviceGetMaxClockInfo", gpu_, which, &mhz)) return std::nullopt;
  return mhz;
}

std::optional<double> Nvml::power_limit_w() const {
  unsigned milliwatts = 0;
  if (!there() || !call(library_, "nvmlDeviceGetEnforcedPowerLimit", gpu_, &milliwatts)) return std::nullopt;
  return milliwatts * 1e-3;
}

std::vector<std::string> Nvml::throttled() const {
  unsigned long long bits = 0;
  std::vector<std::string> reasons;
  if (!there() || !call(library_, "nvmlDeviceGetCurrentClocksThrottleReasons", gpu_, &bits)) return reasons;
  for (const auto& reason : kReasons)
    if ((bits & reason.bit) != 0) reasons.emplace_back(reason.what);
  return reasons;
}

}  // namespace flashfit
