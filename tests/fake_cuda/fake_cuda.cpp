// A libcuda.so.1 without a GPU: every function that flashfit calls, checked argument by argument. A wrong argument is
// answered as the driver answers it where that is documented, and recorded as a complaint. For programs that cannot
// reach the State the environment configures it: FAKE_CUDA_GPUS="NVIDIA L4:89,NVIDIA H100:90" (empty: none),
// FAKE_CUDA_VERSION=12020, FAKE_CUDA_FAIL="cuInit:802", FAKE_CUDA_KEEP=16 (launches remembered).
#include "fake_cuda.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <sstream>

namespace fake_cuda {
namespace {

/// CUlaunchAttribute and CUlaunchConfig of cuda.h, written down apart from those of src/core/gpu.
constexpr int kCluster = 4, kProgrammatic = 6;
struct LaunchAttribute {
  int id, padding;
  unsigned value[16];
};
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  Stream* stream;
  const LaunchAttribute* attributes;
  unsigned attribute_count;
};

constexpr int kSuccess = 0, kInvalidValue = 1, kNotInitialized = 3, kNoDevice = 100, kInvalidDevice = 101,
              kInvalidImage = 200, kInvalidContext = 201, kNoBinary = 209, kInvalidHandle = 400, kNotFound = 500,
              kCaptureUnsupported = 900;

struct ErrorText {
  int code;
  const char *name, *text;
};
constexpr ErrorText kErrors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility was attempted on non supported HW"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
};

void configure_from_environment(State& s) {
  if (const char* keep = std::getenv("FAKE_CUDA_KEEP")) s.keep = static_cast<std::size_t>(std::atoi(keep));
  if (const char* version = std::getenv("FAKE_CUDA_VERSION")) s.version = std::atoi(version);
  if (const char* gpus = std::getenv("FAKE_CUDA_GPUS")) {
    s.gpus.clear();
    std::istringstream list(gpus);
    for (std::string item; std::getline(list, item, ',');) {
      const std::size_t colon = item.rfind(':');
      s.gpus.push_back(make_gpu(item.substr(0, colon), std::atoi(item.c_str() + colon + 1)));
    }
  }
  if (const char* failure = std::getenv("FAKE_CUDA_FAIL")) {
    const std::string text = failure;
    const std::size_t colon = text.find(':');
    s.fail(text.substr(0, colon), std::atoi(text.c_str() + colon + 1));
  }
}

State& state() {
  static State& s = *[] {
    auto* made = new State;
    configure_from_environment(*made);
    return made;
  }();
  return s;
}

/// Holds the State, and says so where a test listens.
struct Locked {
  const std::lock_guard<std::mutex> lock{state().mutex};
  Locked() {
    if (state().on_lock) state().on_lock(true);
  }
  ~Locked() {
    if (state().on_lock) state().on_lock(false);
  }
};

thread_local std::vector<Context*> stack;
thread_local int capture_mode = 0;

int complain(const char* call, const std::string& what, int code) {
  state().complaints.push_back(std::string(call) + ": " + what);
  return code;
}

/// Counts the call; what it must fail with, or 0. Takes no lock,
/// so that the fake adds no order between threads that the caller lacks.
int enter(int function) {
  Function& f = state().functions[function];
  f.calls.fetch_add(1, std::memory_order_relaxed);
  if (f.fail_in.load(std::memory_order_relaxed) > 0 && f.fail_in.fetch_sub(1, std::memory_order_relaxed) == 1)
    return f.fail_with;
  const bool needs_init = function > index_of("cuDriverGetVersion");
  return needs_init && state().pid != getpid() ? kNotInitialized : kSuccess;
}

bool known_device(int device) {
  return device >= kFirstDeviceHandle && device < kFirstDeviceHandle + static_cast<int>(state().gpus.size());
}
const Gpu& gpu_of(int device) { return state().gpus[static_cast<std::size_t>(device - kFirstDeviceHandle)]; }

/// Whether machine code for `library` (0: unknown) runs on GPU `device`.
bool runs_on(const Library& library, int device) {
  const int gpu = gpu_of(device).cc();
  return library.cc == 0 || (library.cc / 10 == gpu / 10 && library.cc <= gpu);
}

/// A call that allocates ends a capture unless its thread said that it knows.
bool breaks_capture() {
  if (!state().capturing || capture_mode == 2) return false;
  state().capture_broken = true;
  return true;
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;
#pragma GCC visibility push(default)
extern "C" {

State* fake_cuda_state() { return &state(); }

int cuGetErrorName(int code, const char** name) {
  const auto* e =
      std::find_if(std::begin(kErrors), std::end(kErrors), [&](const ErrorText& t) { return t.code == code; });
  *name = e == std::end(kErrors) ? nullptr : e->name;
  return *name ? kSuccess : kInvalidValue;
}

int cuGetErrorString(int code, const char** text) {
  const auto* e =
      std::find_if(std::begin(kErrors), std::end(kErrors), [&](const ErrorText& t) { return t.code == code; });
  *text = e == std::end(kErrors) ? nullptr : e->text;
  return *text ? kSuccess : kInvalidValue;
}

int cuInit(unsigned flags) {
  if (const int code = enter(index_of("cuInit"))) return code;
  const Locked lock;
  if (flags) return complain("cuInit", "flags must be 0", kInvalidValue);
  if (state().pid && state().pid != getpid()) return kNotInitialized;  // a fork
  if (state().gpus.empty()) return kNoDevice;
  state().pid = getpid();
  return kSuccess;
}

int cuDriverGetVersion(int* version) {
  if (const int code = enter(index_of("cuDriverGetVersion"))) return code;
  *version = state().version;
  return kSuccess;
}

int cuDeviceGetCount(int* count) {
  if (const int code = enter(index_of("cuDeviceGetCount"))) return code;
  *count = static_cast<int>(state().gpus.size());
  return kSuccess;
}

int cuDeviceGet(int* device, int index) {
  if (const int code = enter(index_of("cuDeviceGet"))) return code;
  if (index < 0 || index >= static_cast<int>(state().gpus.size())) return kInvalidDevice;
  *device = kFirstDeviceHandle + index;
  return kSuccess;
}

int cuDeviceGetName(char* name, int bytes, int device) {
  if (const int code = enter(index_of("cuDeviceGetName"))) return code;
  const Locked lock;
  if (!known_device(device)) return complain("cuDeviceGetName", "unknown device handle", kInvalidDevice);
  if (!name || bytes < 1) return complain("cuDeviceGetName", "no room for the name", kInvalidValue);
  std::snprintf(name, static_cast<std::size_t>(bytes), "%s", gpu_of(device).name.c_str());
  return kSuccess;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (const int code = enter(index_of("cuDeviceGetAttribute"))) return code;
  const Locked lock;
  if (!known_device(device)) return complain("cuDeviceGetAttribute", "unknown device handle", kInvalidDevice);
  const auto found = gpu_of(device).attributes.find(attribute);
  if (found == gpu_of(device).attributes.end())
    return complain("cuDeviceGetAttribute", "unknown attribute " + std::to_string(attribute), kInvalidValue);
  *value = found->second;
  return kSuccess;
}

int cuDevicePrimaryCtxRetain(Context** context, int device) {
  if (const int code = enter(index_of("cuDevicePrimaryCtxRetain"))) return code;
  const Locked lock;
  if (!known_device(device)) return complain("cuDevicePrimaryCtxRetain", "unknown device handle", kInvalidDevice);
  if (breaks_capture()) return kCaptureUnsupported;
  Context*& primary = state().primary[device];
  if (!primary) state().contexts.insert(primary = new Context{device, true});
  ++state().retained[device];
  *context = primary;
  return kSuccess;
}

int cuCtxGetCurrent(Context** context) {
  if (const int code = enter(index_of("cuCtxGetCurrent"))) return code;
  *context = stack.empty() ? nullptr : stack.back();
  return kSuccess;
}

int cuCtxGetDevice(int* device) {
  if (const int code = enter(index_of("cuCtxGetDevice"))) return code;
  if (stack.empty() || !stack.back()) return kInvalidContext;
  *device = stack.back()->device;
  return kSuccess;
}

int cuCtxPushCurrent_v2(Context* context) {
  if (const int code = enter(index_of("cuCtxPushCurrent_v2"))) return code;
  const Locked lock;
  if (!state().contexts.contains(context)) return complain("cuCtxPushCurrent", "unknown context", kInvalidContext);
  stack.push_back(context);
  ++state().pushed;
  return kSuccess;
}

/// Even a pop that reports an error has popped: like all calls, it may report what an earlier launch did.
int cuCtxPopCurrent_v2(Context** context) {
  const int code = enter(index_of("cuCtxPopCurrent_v2"));
  const Locked lock;
  if (stack.empty()) return complain("cuCtxPopCurrent", "nothing is pushed", kInvalidContext);
  if (context) *context = stack.back();
  stack.pop_back();
  --state().pushed;
  return code;
}

int cuStreamGetCtx(Stream* stream, Context** context) {
  if (const int code = enter(index_of("cuStreamGetCtx"))) return code;
  const Locked lock;
  if (!state().streams.contains(stream)) return kInvalidHandle;
  *context = stream->context;
  return kSuccess;
}

int cuThreadExchangeStreamCaptureMode(int* mode) {
  if (const int code = enter(index_of("cuThreadExchangeStreamCaptureMode"))) return code;
  const Locked lock;
  if (!mode || *mode < 0 || *mode > 2)
    return complain("cuThreadExchangeStreamCaptureMode", "no such mode", kInvalidValue);
  state().relaxed += (*mode != 0) - (capture_mode != 0);
  std::swap(*mode, capture_mode);
  return kSuccess;
}

int cuLibraryLoadData(Library** library, const void* code, const int* jit_options, void** jit_values,
                      unsigned jit_count, const int* library_options, void** library_values, unsigned library_count) {
  if (const int failure = enter(index_of("cuLibraryLoadData"))) return failure;
  const Locked lock;
  if (!library || !code) return complain("cuLibraryLoadData", "no image", kInvalidValue);
  if (jit_count || jit_options || jit_values || library_count || library_options || library_values)
    return complain("cuLibraryLoadData", "options that this fake does not know", kInvalidValue);
  if (breaks_capture()) return kCaptureUnsupported;
  const auto* bytes = static_cast<const unsigned char*>(code);
  const bool elf = std::memcmp(bytes,
                               "\x7f"
                               "ELF",
                               4) == 0,
             ptx = bytes[0] == '/' || bytes[0] == '.';
  if (!elf && !ptx) return complain("cuLibraryLoadData", "neither ELF nor PTX", kInvalidImage);
  Library made{0, ""};
  if (ptx && !std::strstr(static_cast<const char*>(code), ".entry"))
    return complain("cuLibraryLoadData", "PTX without a kernel", kInvalidImage);
  if (elf && bytes[18] + 256 * bytes[19] != 190)
    return complain("cuLibraryLoadData", "ELF of another machine than CUDA", kInvalidImage);
  if (elf && std::memcmp(bytes + 64, "FAKECUDA", 8) == 0) {
    const std::string entry(reinterpret_cast<const char*>(bytes) + 74, bytes[73]);
    const std::vector<std::byte> whole = make_image(bytes[72], entry);
    if (std::memcmp(whole.data(), bytes, whole.size()) != 0)
      return complain("cuLibraryLoadData", "the image is damaged", kInvalidImage);
    made = {bytes[72], entry};
  }
  state().libraries.insert(*library = new Library(made));
  return kSuccess;
}

int cuLibraryUnload(Library* library) {
  if (const int code = enter(index_of("cuLibraryUnload"))) return code;
  const Locked lock;
  if (state().libraries.erase(library) == 0) return complain("cuLibraryUnload", "unknown library", kInvalidHandle);
  for (auto k = state().kernels.begin(); k != state().kernels.end();) {
    if ((*k)->library != library) {
      ++k;
      continue;
    }
    delete *k;
    k = state().kernels.erase(k);
  }
  delete library;
  return kSuccess;
}

int cuLibraryGetKernel(Kernel** kernel, Library* library, const char* name) {
  if (const int code = enter(index_of("cuLibraryGetKernel"))) return code;
  const Locked lock;
  if (!state().libraries.contains(library)) return complain("cuLibraryGetKernel", "unknown library", kInvalidHandle);
  if (!kernel || !name || !*name) return complain("cuLibraryGetKernel", "no name", kInvalidValue);
  if (!library->entry.empty() && library->entry != name) return kNotFound;
  if (!stack.empty() && !runs_on(*library, stack.back()->device)) return kNoBinary;
  state().kernels.insert(*kernel = new Kernel{library, name, {}});
  return kSuccess;
}

int cuKernelSetAttribute(int attribute, int value, Kernel* kernel, int device) {
  if (const int code = enter(index_of("cuKernelSetAttribute"))) return code;
  const Locked lock;
  if (!state().kernels.contains(kernel)) return complain("cuKernelSetAttribute", "unknown kernel", kInvalidHandle);
  if (!known_device(device)) return complain("cuKernelSetAttribute", "unknown device handle", kInvalidDevice);
  if (attribute != 8) return complain("cuKernelSetAttribute", "unknown attribute", kInvalidValue);
  if (value < 0 || value > gpu_of(device).attributes.at(97)) return kInvalidValue;
  kernel->shared[device] = value;
  return kSuccess;
}

int cuLaunchKernelEx(const LaunchConfig* config, Kernel* kernel, void** params, void** extra) {
  if (const int code = enter(index_of("cuLaunchKernelEx"))) return code;
  const Locked lock;
  constexpr const char* kCall = "cuLaunchKernelEx";
  if (stack.empty()) return complain(kCall, "no context is current", kInvalidContext);
  if (!state().kernels.contains(kernel)) return complain(kCall, "unknown kernel", kInvalidHandle);
  const LaunchConfig& c = *config;
  Stream* const stream = c.stream;
  if (stream && !state().streams.contains(stream))
    return kInvalidHandle;  // the caller's stream: no fault of who passes it on
  const Context& context =
      stream ? *stream->context : *stack.back();  // as cuda.h says of kernels that belong to no context
  if (!runs_on(*kernel->library, context.device)) return kNoBinary;
  const auto in_65535 = [](unsigned n) { return 1 <= n && n <= 65535; };
  if (c.grid[0] < 1 || c.grid[0] > 0x7fffffffu || !in_65535(c.grid[1]) || !in_65535(c.grid[2]))
    return complain(kCall, "grid", kInvalidValue);
  if (c.block[0] < 1 || c.block[0] > 1024 || c.block[1] != 1 || c.block[2] != 1)
    return complain(kCall, "block", kInvalidValue);
  const auto allowed = kernel->shared.find(context.device);
  const int limit = std::max(48 * 1024, allowed == kernel->shared.end() ? 0 : allowed->second);
  if (c.shared_bytes > static_cast<unsigned>(limit))
    return complain(kCall, "more shared memory than the kernel was allowed on this device", kInvalidValue);
  if (extra || !params || !params[0]) return complain(kCall, "one argument, through params", kInvalidValue);
  if (reinterpret_cast<std::uintptr_t>(params[0]) % 8)
    return complain(kCall, "the argument is not aligned", kInvalidValue);
  Launch launch{.entry = kernel->entry,
                .device = context.device,
                .context = &context,
                .stream = stream,
                .grid = c.grid[0],
                .grid_y = c.grid[1],
                .grid_z = c.grid[2],
                .threads = c.block[0],
                .shared = c.shared_bytes};
  for (unsigned i = 0; i < c.attribute_count; ++i) {
    const LaunchAttribute& a = c.attributes[i];
    if (a.id == kCluster) {
      if (a.value[0] < 1 || a.value[0] > 8 || a.value[1] != 1 || a.value[2] != 1 || c.grid[0] % a.value[0] != 0)
        return complain(kCall, "clusters along x, of at most 8 blocks, that the grid is made of", kInvalidValue);
      if (gpu_of(context.device).cc() < 90) return kInvalidValue;
      launch.cluster = a.value[0];
    } else if (a.id == kProgrammatic) {
      launch.dependent = a.value[0] == 1;
      if (launch.dependent && gpu_of(context.device).cc() < 90)
        return complain(kCall, "a programmatic dependent launch below 9.0", kInvalidValue);
      if (launch.dependent && state().version < 12030 && (state().capturing || state().captures.contains(stream)))
        return complain(kCall, "a programmatic dependent launch in a capture, before CUDA 12.3", kCaptureUnsupported);
    } else {
      return complain(kCall, "unknown attribute", kInvalidValue);
    }
  }
  if (state().launches.size() >= state().keep) state().launches.clear();
  const auto* first = static_cast<const std::byte*>(params[0]);
  launch.params.assign(first, first + state().param_bytes);
  state().launches.push_back(std::move(launch));
  const auto work = state().work_of ? state().work_of(kernel->entry, params[0]) : std::function<void()>();
  if (const auto capture = state().captures.find(stream); capture != state().captures.end()) {
    capture->second->work.push_back(work);
    return kSuccess;
  }
  ++state().launched;
  if (work) work();
  return kSuccess;
}

/// Writes nothing: addresses of GPUs' memory lead nowhere.
int cuMemsetD32Async(std::uint64_t address, unsigned value, std::size_t words, Stream* stream) {
  if (const int code = enter(index_of("cuMemsetD32Async"))) return code;
  const Locked lock;
  constexpr const char* kCall = "cuMemsetD32Async";
  if (stack.empty()) return complain(kCall, "no context is current", kInvalidContext);
  if (stream && !state().streams.contains(stream)) return kInvalidHandle;
  if (address == 0 || address % 4 || words == 0) return complain(kCall, "memory of whole words", kInvalidValue);
  if (state().cleared.size() >= state().keep) state().cleared.clear();
  state().cleared.push_back({address, value, words, stream, state().launches.size()});
  return kSuccess;
}

/// The map is no real one: its address, its type and its extents, so that a test sees that it arrived.
int cuTensorMapEncodeTiled(void* map, int dtype, std::uint32_t rank, void* base, const std::uint64_t* dims,
                           const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* element_strides,
                           int, int, int, int) {
  if (const int code = enter(index_of("cuTensorMapEncodeTiled"))) return code;
  const Locked lock;
  constexpr const char* kCall = "cuTensorMapEncodeTiled";
  if (reinterpret_cast<std::uintptr_t>(map) % 64) return complain(kCall, "the map is not aligned", kInvalidValue);
  if (rank < 1 || rank > 5 || !base || !dims || !strides || !box || !element_strides)
    return complain(kCall, "a tensor of 1 to 5 dimensions", kInvalidValue);
  std::uint64_t words[16] = {reinterpret_cast<std::uintptr_t>(base), static_cast<std::uint64_t>(dtype), rank};
  std::copy_n(dims, rank, words + 3);
  std::memcpy(map, words, sizeof words);
  return kSuccess;
}

}  // extern "C"
#pragma GCC visibility pop
