#include "doctor/environment/empty_launch.hpp"

#include <cstdint>

#include "core/gpu/driver.hpp"
#include "core/launch/launch.hpp"

namespace flashfit::doctor::environment {
namespace {

// As old as every GPU that flashfit speaks of: any driver compiles it for any GPU that it knows.
constexpr char kPtx[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry flashfit_empty(.param .u64 unused)\n{\n  ret;\n}\n";

std::string launch(const Driver& d, int index) {
  cu::Device device = 0;
  cu::Context context = nullptr;
  cu::Library library = nullptr;
  cu::Kernel kernel = nullptr;
  const std::uint64_t unused = 0;
  const auto ok = [&](const char* name, cu::Status status, std::string& why) {
    if (status != 0) why = "GPU " + std::to_string(index) + ": " + describe(d, name, status);
    return status == 0;
  };
  std::string why;
  static_cast<void>(
      ok("cuDeviceGet", d.cuDeviceGet(&device, index), why) &&
      ok("cuDevicePrimaryCtxRetain", d.cuDevicePrimaryCtxRetain(&context, device), why) &&
      ok("cuCtxPushCurrent", d.cuCtxPushCurrent(context), why) &&
      ok("cuLibraryLoadData", d.cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0), why) &&
      ok("cuLibraryGetKernel", d.cuLibraryGetKernel(&kernel, library, "flashfit_empty"), why) &&
      ok("cuLaunchKernelEx", launch_kernel(d, kernel, {}, &unused), why) &&
      ok("cuCtxSynchronize", d.cuCtxSynchronize(), why));
  return why;
}

}  // namespace

std::string launch_on_every_gpu() {
  const Result<const Driver*> d = loading_driver();
  if (!d) return d.error().message;
  if ((*d)->cuCtxSynchronize == nullptr) return (*d)->path + " has no cuCtxSynchronize";
  int count = 0;
  if (const cu::Status s = (*d)->cuDeviceGetCount(&count)) return describe(**d, "cuDeviceGetCount", s);
  for (int i = 0; i < count; ++i)
    if (std::string why = launch(**d, i); !why.empty()) return why;
  return count == 0 ? "no GPU to launch on" : "";
}

}  // namespace flashfit::doctor::environment
