#include "core/gpu/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <pthread.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <mutex>

#include "core/gpu/driver_versions.hpp"

namespace flashfit {
namespace {

constexpr cu::Status kNotInitialized = 3, kStub = 34, kNoDevice = 100, kNotReady = 802, kMismatch = 803, kCompat = 804;
constexpr const char* kForked =
    "this process was forked from one that had used CUDA, and a fork cannot use it: start the process anew (Python: "
    "multiprocessing's spawn or "
    "forkserver), or fork before CUDA is first used";

std::atomic<const Driver*> opened{nullptr};
std::atomic<bool> forked{false};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

/// The names are those of the binary interface: a suffix stands for a changed signature.
const char* missing_base(void* lib, Driver& d) {
  if (!find(lib, "cuInit", d.cuInit)) return "cuInit";
  if (!find(lib, "cuDriverGetVersion", d.cuDriverGetVersion)) return "cuDriverGetVersion";
  if (!find(lib, "cuGetErrorName", d.cuGetErrorName)) return "cuGetErrorName";
  if (!find(lib, "cuGetErrorString", d.cuGetErrorString)) return "cuGetErrorString";
  if (!find(lib, "cuDeviceGetCount", d.cuDeviceGetCount)) return "cuDeviceGetCount";
  if (!find(lib, "cuDeviceGet", d.cuDeviceGet)) return "cuDeviceGet";
  if (!find(lib, "cuDeviceGetName", d.cuDeviceGetName)) return "cuDeviceGetName";
  if (!find(lib, "cuDeviceGetAttribute", d.cuDeviceGetAttribute)) return "cuDeviceGetAttribute";
  if (!find(lib, "cuDevicePrimaryCtxRetain", d.cuDevicePrimaryCtxRetain)) return "cuDevicePrimaryCtxRetain";
  if (!find(lib, "cuCtxGetCurrent", d.cuCtxGetCurrent)) return "cuCtxGetCurrent";
  if (!find(lib, "cuCtxGetDevice", d.cuCtxGetDevice)) return "cuCtxGetDevice";
  if (!find(lib, "cuCtxPushCurrent_v2", d.cuCtxPushCurrent)) return "cuCtxPushCurrent_v2";
  if (!find(lib, "cuCtxPopCurrent_v2", d.cuCtxPopCurrent)) return "cuCtxPopCurrent_v2";
  if (!find(lib, "cuThreadExchangeStreamCaptureMode", d.cuThreadExchangeStreamCaptureMode))
    return "cuThreadExchangeStreamCaptureMode";
  return nullptr;
}

const char* missing_loading(void* lib, Driver& d) {
  if (!find(lib, "cuLibraryLoadData", d.cuLibraryLoadData)) return "cuLibraryLoadData";
  if (!find(lib, "cuLibraryUnload", d.cuLibraryUnload)) return "cuLibraryUnload";
  if (!find(lib, "cuLibraryGetKernel", d.cuLibraryGetKernel)) return "cuLibraryGetKernel";
  if (!find(lib, "cuKernelSetAttribute", d.cuKernelSetAttribute)) return "cuKernelSetAttribute";
  if (!find(lib, "cuLaunchKernelEx", d.cuLaunchKernelEx)) return "cuLaunchKernelEx";
  if (!find(lib, "cuMemsetD32Async", d.cuMemsetD32Async)) return "cuMemsetD32Async";
  return nullptr;
}

std::string path_of(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !map->l_name) return "";
  char* real = realpath(map->l_name, nullptr);
  std::string path = real ? real : map->l_name;
  std::free(real);
  return path;
}

std::mutex opening;

/// Never closed: the driver keeps threads and exit handlers of its own. A failed search is repeated by the next call.
void* library() {
  static void* handle = nullptr;  // guarded by `opening`
  if (!handle) handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return handle;
}

tl::unexpected<Error> no_init(const Driver& d, cu::Status status) {
  if (status == kStub)
    return fail(
        Code::kNoGpu,
        fmt::format("{} is the CUDA toolkit's link-time stub, not a driver: take its folder out of LD_LIBRARY_PATH",
                    d.path));
  std::string message = describe(d, "cuInit", status);
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (status == kNoDevice && visible) message += fmt::format("; CUDA_VISIBLE_DEVICES is '{}'", visible);
  if (status == kCompat || status == kMismatch) message += fmt::format("; libcuda is {}", d.path);
  return fail(status == kNotInitialized ? Code::kCuda : Code::kNoGpu, std::move(message));
}

Result<const Driver*> open_driver() {
  const std::lock_guard lock(opening);
  if (const Driver* done = opened.load(std::memory_order_acquire)) return done;
  void* lib = library();
  if (!lib) {
    const char* why = dlerror();
    return fail(Code::kNoGpu, fmt::format("no NVIDIA driver: dlopen: {}", why ? why : "libcuda.so.1 cannot be opened"));
  }
  Driver d{};
  d.path = path_of(lib);
  if (const char* name = missing_base(lib, d))
    return fail(Code::kNoGpu, fmt::format("{} has no {}: it is no usable NVIDIA driver", d.path, name));
  if (const cu::Status s = d.cuInit(0)) return no_init(d, s);
  if (const cu::Status s = d.cuDriverGetVersion(&d.version))
    return fail(Code::kCuda, describe(d, "cuDriverGetVersion", s));
  d.lacks = missing_loading(lib, d);
  find(lib, "cuTensorMapEncodeTiled", d.cuTensorMapEncodeTiled);
  find(lib, "cuStreamGetCtx", d.cuStreamGetCtx);
  find(lib, "cuCtxSynchronize", d.cuCtxSynchronize);
  find(lib, "cuDeviceGetPCIBusId", d.cuDeviceGetPCIBusId);
  // A fork would inherit locks and handles that the driver refuses there;
  // the flag lets it be told before it can hang on one.
  static const int watched = pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  static_cast<void>(watched);
  const Driver* kept = new Driver(std::move(d));  // never freed: threads may still launch while the process exits
  opened.store(kept, std::memory_order_release);
  return kept;
}

}  // namespace

Result<const Driver*> driver() {
  if (const Driver* done = opened.load(std::memory_order_acquire)) {
    if (forked.load(std::memory_order_relaxed)) return fail(Code::kCuda, kForked);
    return done;
  }
  return open_driver();
}

InitAnswer ask_init() {
  const std::lock_guard lock(opening);
  InitAnswer answer;
  void* lib = library();
  if (!lib) {
    const char* why = dlerror();
    answer.no_library = why ? why : "libcuda.so.1 cannot be opened";
    return answer;
  }
  Driver d{};
  answer.path = path_of(lib);
  if (const char* name = missing_base(lib, d)) {
    answer.no_library = fmt::format("{} has no {}: it is no usable NVIDIA driver", answer.path, name);
    return answer;
  }
  answer.status = d.cuInit(0);
  if (answer.status) answer.words = describe(d, "cuInit", answer.status);
  if (d.cuDriverGetVersion(&answer.version) != 0) answer.version = 0;
  return answer;
}

Result<const Driver*> loading_driver() {
  Result<const Driver*> d = driver();
  if (!d || !(*d)->lacks) return d;
  const Driver& found = **d;
  if (found.version < 12000)
    return fail(Code::kMisfit,
                fmt::format("the NVIDIA driver is for CUDA {}: flashfit needs 12.0 or later (Linux driver {} or later)",
                            str(found.version), first_branch(12000)));
  return fail(Code::kMisfit, fmt::format("{} has no {}, although it says that it is for CUDA {}", found.path,
                                         found.lacks, str(found.version)));
}

std::string describe(const Driver& d, const char* call, cu::Status status) {
  const char *name = nullptr, *text = nullptr;
  d.cuGetErrorName(status, &name);
  d.cuGetErrorString(status, &text);
  std::string line = name ? fmt::format("{}: {}", call, name) : fmt::format("{}: error {}", call, status);
  if (text) line += fmt::format(" ({})", text);
  switch (status) {
    case kNotInitialized:
      return line + "; " + kForked;
    case kNoDevice:
      return line + "; the driver is there, but shows this process no GPU (a container must be given one)";
    case kNotReady:
      return line +
             "; on a machine with NVSwitch this passes once nvidia-fabricmanager runs, in the driver's own version";
    case kMismatch:
      return line +
             "; libcuda and the kernel module are of different drivers: reboot after an update, or remove the other "
             "libcuda";
    case kCompat:
      return line +
             "; libcuda comes from a compatibility package (cuda-compat), which this GPU does not support: remove it";
    default:
      return line;
  }
}

}  // namespace flashfit
