// NVML beside the fake driver: the GPUs on the buses of cuDeviceGetPCIBusId, hot and at their power limit.
#include <cstring>

namespace {

constexpr int kSuccess = 0, kInvalidArgument = 2, kNotFound = 6;
constexpr unsigned long long kIdle = 0x1, kPowerCap = 0x4, kHardwareThermal = 0x40;
int gpu;

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int nvmlInit_v2() { return kSuccess; }

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, int** device) {
  if (std::strncmp(bus, "0000:0", 6) != 0) return kNotFound;
  *device = &gpu;
  return kSuccess;
}

int nvmlDeviceGetMaxClockInfo(const int* device, int which, unsigned* mhz) {
  if (device != &gpu || which < 1 || which > 2) return kInvalidArgument;
  *mhz = which == 1 ? 1980 : 2619;
  return kSuccess;
}

int nvmlDeviceGetEnforcedPowerLimit(const int* device, unsigned* milliwatts) {
  if (device != &gpu) return kInvalidArgument;
  *milliwatts = 700000;
  return kSuccess;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(const int* device, unsigned long long* reasons) {
  if (device != &gpu) return kInvalidArgument;
  *reasons = kIdle | kPowerCap | kHardwareThermal;
  return kSuccess;
}
}  // extern "C"
#pragma GCC visibility pop
