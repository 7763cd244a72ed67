#pragma once
// The fake driver as a test sees it: what it pretends to be, what it was asked, what was wrong with it. fake_cuda.cpp
// implements the driver's functions over one State; a test reaches the same State by fake().
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace fake_cuda {

/// Every function that the fake has, by its name in the binary interface.
inline constexpr const char* kFunctions[] = {
    "cuInit",          "cuDriverGetVersion",   "cuDeviceGetCount",         "cuDeviceGet",
    "cuDeviceGetName", "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain", "cuCtxGetCurrent",
    "cuCtxGetDevice",  "cuCtxPushCurrent_v2",  "cuCtxPopCurrent_v2",       "cuThreadExchangeStreamCaptureMode",
    "cuStreamGetCtx",  "cuLaunchKernelEx",     "cuMemsetD32Async",         "cuLibraryLoadData",
    "cuLibraryUnload", "cuLibraryGetKernel",   "cuKernelSetAttribute",     "cuTensorMapEncodeTiled",
};
inline constexpr int kFunctionCount = sizeof kFunctions / sizeof *kFunctions;

constexpr int index_of(std::string_view name) {
  for (int i = 0; i < kFunctionCount; ++i)
    if (name == kFunctions[i]) return i;
  return -1;
}

/// A pretended GPU. Attributes by their CUdevice_attribute number; those of make_gpu() are the compute capability's.
struct Gpu {
  std::string name;
  std::map<int, int> attributes;
  int cc() const { return attributes.at(75) * 10 + attributes.at(76); }
};

inline Gpu make_gpu(std::string name, int cc) {
  const bool data_center = cc == 80 || cc == 90 || cc / 10 == 10;
  const int shared = cc == 75 ? 64 : cc == 80 || cc == 87 ? 164 : data_center ? 228 : 100;
  const int threads = cc == 75 ? 1024 : data_center ? 2048 : 1536;
  const int blocks = cc == 75 || cc == 86 || cc == 87 ? 16 : data_center ? 32 : 24;
  return {std::move(name),
          {{1, 1024},
           {13, 2040000},
           {16, 58},
           {36, 6251000},
           {37, 192},
           {38, 48 << 20},
           {39, threads},
           {75, cc / 10},
           {76, cc % 10},
           {81, shared * 1024},
           {82, 65536},
           {97, (cc == 75 ? 64 : shared - 1) * 1024},
           {106, blocks}}};
}

/// Handles: the fake gives out addresses of these, and accepts no others.
/// A device handle is not its index, so that a mix-up shows.
inline constexpr int kFirstDeviceHandle = 1000;
struct Context {
  int device;
  bool primary;
};
struct Stream {
  Context* context;
};
struct Library {
  int cc;  ///< 0: not one of make_image()'s
  std::string entry;
};
struct Kernel {
  Library* library;
  std::string entry;
  std::map<int, int> shared;  ///< by device: the dynamic shared memory it was allowed
};

struct Launch {
  std::string entry;
  int device;
  const Context* context;
  const void* stream;
  unsigned grid, grid_y, grid_z, threads, shared;
  unsigned cluster = 1;           ///< blocks of a cluster, along x
  bool dependent = false;         ///< a programmatic dependent launch
  std::vector<std::byte> params;  ///< State::param_bytes of them
};

/// Memory that was set to one value.
struct Cleared {
  std::uint64_t address;
  unsigned value;
  std::size_t words;
  const void* stream;
  std::size_t before;  ///< the number of the next launch
};

/// What a graph that was captured does when it is replayed, a launch each; empty functions do nothing.
struct Graph {
  std::vector<std::function<void()>> work;
};

struct Function {
  std::atomic<int> calls{0};
  std::atomic<int> fail_in{0};  ///< 1: the next call fails, 2: the one after it; 0: none
  int fail_with = 0;
};

struct State {
  // What it pretends to be.
  int version = 12090;
  std::vector<Gpu> gpus = {make_gpu("NVIDIA L4", 89)};
  std::size_t param_bytes = 0;  ///< of the kernels' one argument
  std::atomic<bool> capturing{
      false};  ///< a stream somewhere is captured in the global mode: allocating then ends the capture

  std::size_t keep = SIZE_MAX;  ///< launches: more are forgotten, so that many calls take no more memory than few

  /// Told when a function takes and leaves the State, on its thread: what happens in between is the driver's own doing.
  void (*on_lock)(bool taken) = nullptr;

  /// What a kernel does, made of its argument when it is launched; run then, or by each replay of a graph that captured
  /// the launch. Null: kernels do nothing.
  std::function<void()> (*work_of)(const std::string& entry, const void* params) = nullptr;
  double launch_us = 0;          ///< that a launch takes by events; 0: any two events are 1 ms apart
  std::size_t memory = 1 << 26;  ///< bytes that cuMemGetInfo says

  // What it was asked.
  std::atomic<long> launched{0};           ///< launches, each replay's counted
  std::map<const void*, Graph*> captures;  ///< by stream: being captured
  Function functions[kFunctionCount];
  std::vector<Launch> launches;
  std::vector<Cleared> cleared;
  std::vector<std::string> complaints;  ///< every argument that no correct caller passes
  std::atomic<bool> capture_broken{false};
  int pid = 0;  ///< of the process that called cuInit

  // What lives.
  std::mutex mutex;  ///< of launches, complaints and the sets
  std::set<Context*> contexts;
  std::map<int, Context*> primary;  ///< by device
  std::map<int, int> retained;      ///< by device
  std::set<Stream*> streams;
  std::set<Library*> libraries;
  std::set<Kernel*> kernels;
  std::atomic<int> pushed{0};   ///< pushes less pops, over all threads
  std::atomic<int> relaxed{0};  ///< threads whose capture mode is not the default

  Function& operator[](std::string_view name) { return functions[index_of(name)]; }
  int calls(std::string_view name) { return (*this)[name].calls; }
  /// Makes the n-th call of `name` from now on return `code`.
  void fail(std::string_view name, int code, int n = 1) {
    (*this)[name].fail_with = code;
    (*this)[name].fail_in = n;
  }
};

/// An image that the fake takes: an ELF header for CUDA (e_machine 190), a marker,
/// the compute capability, the kernel's name and a sum over all.
inline std::vector<std::byte> make_image(int cc, std::string_view entry) {
  std::string text(64, '\0');
  text.replace(0, 4,
               "\x7f"
               "ELF");
  text[18] = static_cast<char>(190);
  text += "FAKECUDA";
  text += static_cast<char>(cc);
  text += static_cast<char>(entry.size());
  text += entry;
  unsigned char sum = 0;
  for (const char c : text) sum = static_cast<unsigned char>(sum * 31 + static_cast<unsigned char>(c));
  text += static_cast<char>(sum);
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

/// The State of the fake that the dynamic linker finds as libcuda.so.1; ends the test run if that is not the fake.
inline State& fake() {
  static State* const state = [] {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    auto* get = library ? reinterpret_cast<State* (*)()>(dlsym(library, "fake_cuda_state")) : nullptr;
    if (!get) {
      std::fprintf(stderr, "libcuda.so.1 is not the fake: set LD_LIBRARY_PATH to the build's tests/fake_cuda\n");
      std::exit(2);
    }
    return get();
  }();
  return *state;
}

}  // namespace fake_cuda
