#include "measure/gpu_driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <type_traits>

namespace flashfit::measure {

Result<GpuDriver> gpu_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  GpuDriver d{};
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto& function) {
    function = library ? reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name)) : nullptr;
    if (function == nullptr && missing == nullptr) missing = name;
  };
  find("cuMemAlloc_v2", d.cuMemAlloc);
  find("cuMemFree_v2", d.cuMemFree);
  find("cuMemGetInfo_v2", d.cuMemGetInfo);
  find("cuMemcpyHtoDAsync_v2", d.cuMemcpyHtoDAsync);
  find("cuMemcpyDtoHAsync_v2", d.cuMemcpyDtoHAsync);
  find("cuMemcpyDtoDAsync_v2", d.cuMemcpyDtoDAsync);
  find("cuMemsetD8Async", d.cuMemsetD8Async);
  find("cuStreamCreate", d.cuStreamCreate);
  find("cuStreamDestroy_v2", d.cuStreamDestroy);
  find("cuStreamSynchronize", d.cuStreamSynchronize);
  find("cuStreamBeginCapture_v2", d.cuStreamBeginCapture);
  find("cuStreamEndCapture", d.cuStreamEndCapture);
  find("cuGraphInstantiateWithFlags", d.cuGraphInstantiateWithFlags);
  find("cuGraphLaunch", d.cuGraphLaunch);
  find("cuGraphExecDestroy", d.cuGraphExecDestroy);
  find("cuGraphDestroy", d.cuGraphDestroy);
  find("cuEventCreate", d.cuEventCreate);
  find("cuEventDestroy_v2", d.cuEventDestroy);
  find("cuEventRecord", d.cuEventRecord);
  find("cuEventElapsedTime", d.cuEventElapsedTime);
  if (missing != nullptr) return fail(Code::kMisfit, fmt::format("the NVIDIA driver has no {}", missing));
  return d;
}

}  // namespace flashfit::measure
