#pragma once
// The CUDA driver, opened at run time: the few functions of libcuda.so.1 that flashfit calls, declared here so that no
// CUDA header is needed to build and no CUDA library to load flashfit. Names, values and signatures are those of cuda.h
// (CUDA Driver API reference); their ABI is frozen.
#include <cstdint>
#include <string>

#include "core/base/error.hpp"
#include "core/gpu/target.hpp"

namespace flashfit {

/// The driver's types and constants, by their cuda.h meaning.
namespace cu {
using Status = int;  ///< CUresult; 0 is success
using Device = int;  ///< CUdevice, from cuDeviceGet
using Context = struct ContextHandle*;
using Stream = struct StreamHandle*;
using Library = struct LibraryHandle*;
using Kernel = struct KernelHandle*;

inline constexpr int kMaxDynamicSharedBytes = 8;  ///< CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
inline constexpr std::uintptr_t kPerThreadStream =
    2;                                     ///< CU_STREAM_PER_THREAD; 1 is CU_STREAM_LEGACY, 0 either of them
inline constexpr int kCaptureRelaxed = 2;  ///< CU_STREAM_CAPTURE_MODE_RELAXED

/// CUlaunchAttributeID
inline constexpr int kClusterDimension = 4;           ///< CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
inline constexpr int kProgrammaticSerialization = 6;  ///< CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION

/// CUlaunchAttribute
struct LaunchAttribute {
  int id, padding;
  union {
    struct {
      unsigned x, y, z;
    } cluster;
    int programmatic;
    char bytes[64];
  };
};

/// CUlaunchConfig
struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

/// CUdevice_attribute
enum class Attribute : int {
  kClockKhz = 13,
  kSms = 16,
  kComputeMode = 20,
  kMemoryClockKhz = 36,
  kMemoryBusBits = 37,
  kThreadsPerSm = 39,
  kMajor = 75,
  kMinor = 76,
  kSharedBytesPerSm = 81,
  kRegistersPerSm = 82,
  kSharedBytesPerBlockOptIn = 97,
  kBlocksPerSm = 106,
};
}  // namespace cu

/// The functions, under the driver's own names. Those of the second group exist from CUDA 12.0
/// (driver 525) on: take them from loading_driver().
struct Driver {
  cu::Status (*cuInit)(unsigned flags);
  cu::Status (*cuDriverGetVersion)(int* version);
  cu::Status (*cuGetErrorName)(cu::Status, const char** name);
  cu::Status (*cuGetErrorString)(cu::Status, const char** text);
  cu::Status (*cuDeviceGetCount)(int* count);
  cu::Status (*cuDeviceGet)(cu::Device*, int index);
  cu::Status (*cuDeviceGetName)(char* name, int bytes, cu::Device);
  cu::Status (*cuDeviceGetAttribute)(int* value, cu::Attribute, cu::Device);
  cu::Status (*cuDevicePrimaryCtxRetain)(cu::Context*, cu::Device);
  cu::Status (*cuCtxGetCurrent)(cu::Context*);
  cu::Status (*cuCtxGetDevice)(cu::Device*);
  cu::Status (*cuCtxPushCurrent)(cu::Context);
  cu::Status (*cuCtxPopCurrent)(cu::Context*);
  cu::Status (*cuThreadExchangeStreamCaptureMode)(int* mode);

  cu::Status (*cuLibraryLoadData)(cu::Library*, const void* code, int* jit_options, void** jit_values,
                                  unsigned jit_count, int* library_options, void** library_values,
                                  unsigned library_count);
  cu::Status (*cuLibraryUnload)(cu::Library);
  cu::Status (*cuLibraryGetKernel)(cu::Kernel*, cu::Library, const char* name);
  cu::Status (*cuKernelSetAttribute)(int attribute, int value, cu::Kernel, cu::Device);
  cu::Status (*cuLaunchKernelEx)(const cu::LaunchConfig*, cu::Kernel, void** params, void** extra);
  cu::Status (*cuMemsetD32Async)(std::uint64_t address, unsigned value, std::size_t words, cu::Stream);

  /// From CUDA 12.0 on too, and asked for by kernels that use TMA alone: nullptr if the driver has none.
  cu::Status (*cuTensorMapEncodeTiled)(void* map, int dtype, std::uint32_t rank, void* base, const std::uint64_t* dims,
                                       const std::uint64_t* strides, const std::uint32_t* box,
                                       const std::uint32_t* element_strides, int interleave, int swizzle,
                                       int l2_promotion, int fill);

  /// Asked where there is more than one GPU alone; nullptr if the driver has none.
  cu::Status (*cuStreamGetCtx)(cu::Stream, cu::Context*);

  /// Waits for all that this context was given; nothing but the doctor's probe does that. nullptr if there is none.
  cu::Status (*cuCtxSynchronize)();

  /// Tells NVML which GPU is meant; nullptr if there is none.
  cu::Status (*cuDeviceGetPCIBusId)(char* text, int bytes, cu::Device);

  CudaVersion version;  ///< 12090 is 12.9
  const char* lacks;    ///< the first function of the second group that is missing; nullptr: none
  std::string path;     ///< the file that libcuda.so.1 led to; "" if it cannot be told
};

/// The driver of this process, opened and initialised by the first call; thread safe, and one atomic load from the
/// second call on. Success is remembered for good. A failure is not: the next call tries again (tens of microseconds
/// without a driver, far from any launch), since some causes pass: a container's GPU that appears late, a fabric
/// manager that is still starting (802). Errors: kNoGpu with the cause in one line (no libcuda.so.1 with the loader's
/// own words, a toolkit's stub, no device, the meaning of cuInit's other errors);
/// kCuda in a process forked from one that used CUDA.
Result<const Driver*> driver();

/// The same, if it can load images: kMisfit names the driver's CUDA version when that
/// is below 12.0, and a function that is missing.
Result<const Driver*> loading_driver();

/// What the driver answered, for who reports on a machine: nothing of it is remembered.
struct InitAnswer {
  std::string no_library;   ///< the loader's words where libcuda.so.1 cannot be opened, or what it lacks; else ""
  std::string path;         ///< the file that it led to; "" if it cannot be told
  cu::Status status = 0;    ///< of cuInit
  std::string words;        ///< describe() of the status; "" for success
  CudaVersion version = 0;  ///< that a driver without devices tells too; 0: it does not
};
InitAnswer ask_init();

/// "cuInit: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)":
/// a call and the driver's own words, with what it means where that is known.
std::string describe(const Driver& driver, const char* call, cu::Status status);

}  // namespace flashfit
