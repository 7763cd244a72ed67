#include "core/gpu/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "core/gpu/driver.hpp"

namespace flashfit {
namespace {

/// The table's closest GPU: what is in no attribute of the driver comes from it.
const Gpu* nearest_gpu(const std::string& name, ComputeCapability cc) {
  const auto table = gpu_table();
  if (Result<Gpu> named = find_gpu(name); named && named->cc == cc)
    return &*std::find_if(table.begin(), table.end(),
                          [&](const Gpu& g) { return g.name == named->name && g.cc == cc; });
  const Gpu* best = nullptr;
  for (const Gpu& listed : table)
    if (listed.cc <= cc && (!best || listed.cc > best->cc)) best = &listed;
  return best;
}

Result<int> device_count(const Driver& d) {
  int count = 0;
  if (const cu::Status s = d.cuDeviceGetCount(&count)) return fail(Code::kCuda, describe(d, "cuDeviceGetCount", s));
  return count;
}

Result<Gpu> ask(const Driver& d, int index) {
  const Result<int> count = device_count(d);
  if (!count) return tl::unexpected(count.error());
  if (*count == 0) return fail(Code::kNoGpu, "the NVIDIA driver is there, but shows this process no GPU");
  if (index < 0 || index >= *count)
    return fail(Code::kInvalidArgument,
                fmt::format("GPU {}: this process has {}", index,
                            *count == 1 ? "GPU 0 only" : fmt::format("GPUs 0 to {}", *count - 1)));
  cu::Device device = 0;
  if (const cu::Status s = d.cuDeviceGet(&device, index)) return fail(Code::kCuda, describe(d, "cuDeviceGet", s));
  char name[256] = "";
  if (const cu::Status s = d.cuDeviceGetName(name, sizeof name, device))
    return fail(Code::kCuda, describe(d, "cuDeviceGetName", s));

  cu::Status status = 0;
  const auto attribute = [&](cu::Attribute which) {
    int value = 0;
    if (!status) status = d.cuDeviceGetAttribute(&value, which, device);
    return value;
  };
  Gpu gpu{};
  gpu.name = name;
  gpu.cc = {attribute(cu::Attribute::kMajor), attribute(cu::Attribute::kMinor)};
  gpu.sms = attribute(cu::Attribute::kSms);
  gpu.shared_bytes_sm = attribute(cu::Attribute::kSharedBytesPerSm);
  gpu.shared_bytes_block = attribute(cu::Attribute::kSharedBytesPerBlockOptIn);
  gpu.threads_sm = attribute(cu::Attribute::kThreadsPerSm);
  gpu.blocks_sm = attribute(cu::Attribute::kBlocksPerSm);
  gpu.registers_sm = attribute(cu::Attribute::kRegistersPerSm);
  gpu.clock_ghz = attribute(cu::Attribute::kClockKhz) * 1e-6;
  const double memory_hz = attribute(cu::Attribute::kMemoryClockKhz) * 1e3;
  gpu.dram_gb_s = 2 * memory_hz * attribute(cu::Attribute::kMemoryBusBits) / 8 * 1e-9;  // two transfers a clock
  if (status) return fail(Code::kCuda, describe(d, "cuDeviceGetAttribute", status));

  if (const Gpu* near = nearest_gpu(gpu.name, gpu.cc)) {
    gpu.mma_flops_clk_sm = near->mma_flops_clk_sm;
    if (gpu.clock_ghz == 0) gpu.clock_ghz = near->clock_ghz;
    if (gpu.dram_gb_s == 0) gpu.dram_gb_s = near->dram_gb_s;  // integrated GPUs report no memory clock
  }
  return gpu;
}

}  // namespace

Result<Gpu> live_gpu(int index) {
  const Result<const Driver*> d = driver();
  if (!d) return tl::unexpected(d.error());
  static std::shared_mutex mutex;
  static auto& known = *new std::map<int, Gpu>;  // never freed: threads may still ask while the process exits
  {
    const std::shared_lock lock(mutex);
    if (const auto found = known.find(index); found != known.end()) return found->second;
  }
  Result<Gpu> gpu = ask(**d, index);
  if (gpu) {
    const std::unique_lock lock(mutex);
    known.emplace(index, *gpu);
  }
  return gpu;
}

std::string pci_bus_id(int index) {
  const Result<const Driver*> d = driver();
  if (!d || !(*d)->cuDeviceGetPCIBusId) return "";
  cu::Device device = 0;
  char text[64] = "";
  if ((*d)->cuDeviceGet(&device, index) != 0) return "";
  return (*d)->cuDeviceGetPCIBusId(text, sizeof text, device) == 0 ? text : "";
}

Result<CudaVersion> driver_cuda_version() {
  return driver().map([](const Driver* d) { return d->version; });
}

std::string parse_driver_version(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  for (auto at = text.begin(); (at = std::find_if(at, text.end(), digit)) != text.end();) {
    const auto end = std::find_if_not(at, text.end(), [&](char c) { return digit(c) || c == '.'; });
    const std::string_view run(&*at, static_cast<std::size_t>(end - at));
    if (run.size() > 4 && std::all_of(run.begin(), run.begin() + 3, digit) && run[3] == '.' && digit(run.back()))
      return std::string(run);
    at = end;
  }
  return "";
}

Machine this_machine() {
  Machine machine;
  std::ifstream module("/proc/driver/nvidia/version");
  machine.driver_version = parse_driver_version(std::string(std::istreambuf_iterator<char>(module), {}));
  const Result<const Driver*> d = driver();
  if (!d) {
    machine.no_gpu_reason = d.error().message;
    return machine;
  }
  machine.cuda = (*d)->version;
  if (machine.driver_version.empty())
    machine.driver_version = parse_driver_version((*d)->path.substr((*d)->path.rfind('/') + 1));
  const Result<int> count = device_count(**d);
  if (!count) machine.no_gpu_reason = count.error().message;
  for (int i = 0; i < count.value_or(0); ++i) {
    Result<Gpu> gpu = live_gpu(i);
    if (gpu) {
      machine.gpus.push_back(std::move(*gpu));
      machine.indices.push_back(i);
    } else {
      machine.no_gpu_reason = gpu.error().message;
    }
  }
  if (count && *count == 0) machine.no_gpu_reason = "the NVIDIA driver is there, but shows this process no GPU";
  return machine;
}

}  // namespace flashfit
