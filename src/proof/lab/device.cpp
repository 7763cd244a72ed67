#include "proof/lab/device.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "core/gpu/device.hpp"
#include "core/gpu/driver.hpp"
#include "core/launch/launch.hpp"

namespace flashfit::lab {
namespace {

using Address = unsigned long long;  // CUdeviceptr

/// What trials need of the driver and flashfit's library does not.
struct TrialDriver {
  cu::Status (*cuMemAlloc)(Address*, std::size_t);
  cu::Status (*cuMemFree)(Address);
  cu::Status (*cuMemcpyHtoD)(Address, const void*, std::size_t);
  cu::Status (*cuMemcpyDtoH)(void*, Address, std::size_t);
  cu::Status (*cuCtxSynchronize)();
};

const char* missing(void* library, TrialDriver& d) {
  const auto find = [library](const char* name, auto& function) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  if (!find("cuMemAlloc_v2", d.cuMemAlloc)) return "cuMemAlloc_v2";
  if (!find("cuMemFree_v2", d.cuMemFree)) return "cuMemFree_v2";
  if (!find("cuMemcpyHtoD_v2", d.cuMemcpyHtoD)) return "cuMemcpyHtoD_v2";
  if (!find("cuMemcpyDtoH_v2", d.cuMemcpyDtoH)) return "cuMemcpyDtoH_v2";
  if (!find("cuCtxSynchronize", d.cuCtxSynchronize)) return "cuCtxSynchronize";
  return nullptr;
}

}  // namespace

struct Device::State {
  const Driver* driver = nullptr;
  TrialDriver trial{};
  Gpu gpu{};
  cu::Device device = 0;
  std::vector<Address> memory;
  std::vector<cu::Library> libraries;

  Result<void> operator()(const char* call, cu::Status status) const {
    if (status == 0) return {};
    return fail(Code::kCuda, describe(*driver, call, status));
  }
};

Device::Device(std::unique_ptr<State> state) : state_(std::move(state)) {}
Device::Device(Device&&) noexcept = default;
Device& Device::operator=(Device&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Device::~Device() {
  if (!state_) return;
  release();
  for (cu::Library library : state_->libraries) state_->driver->cuLibraryUnload(library);
}

Result<Device> Device::open(int index) {
  const Result<const Driver*> driver = loading_driver();
  if (!driver) return tl::unexpected(driver.error());
  const Result<Gpu> gpu = live_gpu(index);
  if (!gpu) return tl::unexpected(gpu.error());
  auto state = std::make_unique<State>();
  State& s = *state;
  s.driver = *driver;
  s.gpu = *gpu;
  if (const char* name = missing(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), s.trial))
    return fail(Code::kMisfit, fmt::format("{} has no {}", (*driver)->path, name));
  cu::Context context = nullptr;
  for (const auto& [call, status] :
       {std::pair{"cuDeviceGet", s.driver->cuDeviceGet(&s.device, index)},
        {"cuDevicePrimaryCtxRetain", s.driver->cuDevicePrimaryCtxRetain(&context, s.device)},
        {"cuCtxPushCurrent", s.driver->cuCtxPushCurrent(context)}})
    if (Result<void> r = s(call, status); !r) return tl::unexpected(r.error());
  return Device(std::move(state));
}

const Gpu& Device::gpu() const { return state_->gpu; }
int Device::driver_version() const { return state_->driver->version; }

Result<LoadedKernel> Device::load(std::span<const std::byte> image, const std::string& entry, int threads,
                                  int shared_bytes, int cluster) {
  State& s = *state_;
  cu::Library library = nullptr;
  if (Result<void> r = s("cuLibraryLoadData",
                         s.driver->cuLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
      !r)
    return tl::unexpected(r.error());
  s.libraries.push_back(library);
  cu::Kernel kernel = nullptr;
  if (Result<void> r = s("cuLibraryGetKernel", s.driver->cuLibraryGetKernel(&kernel, library, entry.c_str())); !r)
    return tl::unexpected(r.error());
  if (Result<void> r = s("cuKernelSetAttribute",
                         s.driver->cuKernelSetAttribute(cu::kMaxDynamicSharedBytes, shared_bytes, kernel, s.device));
      !r)
    return tl::unexpected(r.error());
  return LoadedKernel{reinterpret_cast<struct KernelHandle*>(kernel), threads, shared_bytes, cluster};
}

Result<void> Device::start(const Launch& launch, bool dependent) {
  State& s = *state_;
  const LoadedKernel& kernel = launch.kernel;
  const LaunchShape shape{.grid_x = static_cast<unsigned>(launch.grid.x),
                          .grid_y = static_cast<unsigned>(launch.grid.y),
                          .grid_z = static_cast<unsigned>(launch.grid.z),
                          .threads = static_cast<unsigned>(kernel.threads),
                          .shared_bytes = static_cast<unsigned>(kernel.shared_bytes),
                          .cluster = static_cast<unsigned>(kernel.cluster),
                          .dependent = dependent};
  return s("cuLaunchKernelEx",
           launch_kernel(*s.driver, reinterpret_cast<cu::Kernel>(kernel.handle), shape, launch.params));
}

Result<void> Device::wait() { return (*state_)("the kernel", state_->trial.cuCtxSynchronize()); }

Result<void> Device::run(const LoadedKernel& kernel, Extent grid, const void* params) {
  if (Result<void> r = start({kernel, grid, params}, false); !r) return r;
  return wait();
}

Result<void> Device::run_dependent(const Launch& first, const Launch& second) {
  if (Result<void> r = start(first, false); !r) return r;
  if (Result<void> r = start(second, true); !r) return r;
  return wait();
}

Result<void*> Device::allocate(std::size_t bytes) {
  State& s = *state_;
  Address address = 0;
  if (Result<void> r = s("cuMemAlloc", s.trial.cuMemAlloc(&address, bytes == 0 ? 1 : bytes)); !r)
    return tl::unexpected(r.error());
  s.memory.push_back(address);
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): the driver's addresses are integers
}

Result<void> Device::upload(void* to, std::span<const std::byte> from) {
  if (from.empty()) return {};
  return (*state_)("cuMemcpyHtoD", state_->trial.cuMemcpyHtoD(reinterpret_cast<Address>(to), from.data(), from.size()));
}

Result<void> Device::download(std::span<std::byte> to, const void* from) {
  if (to.empty()) return {};
  return (*state_)("cuMemcpyDtoH", state_->trial.cuMemcpyDtoH(to.data(), reinterpret_cast<Address>(from), to.size()));
}

void Device::release() {
  for (const Address address : state_->memory) state_->trial.cuMemFree(address);
  state_->memory.clear();
}

}  // namespace flashfit::lab
