#pragma once
// What measuring asks of the driver beyond core/gpu/driver.hpp: memory, streams, events, graphs. Names, values and
// signatures are those of cuda.h (CUDA Driver API reference).
#include <cstddef>
#include <cstdint>

#include "core/base/error.hpp"
#include "core/gpu/driver.hpp"

namespace flashfit::measure {

using Address = unsigned long long;  ///< CUdeviceptr
using Event = struct EventHandle*;
using Graph = struct GraphHandle*;
using GraphExec = struct GraphExecHandle*;

inline constexpr int kL2Bytes = 38;            ///< CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
inline constexpr unsigned kNonBlocking = 1;    ///< CU_STREAM_NON_BLOCKING
inline constexpr int kCaptureModeRelaxed = 2;  ///< CU_STREAM_CAPTURE_MODE_RELAXED

struct GpuDriver {
  cu::Status (*cuMemAlloc)(Address*, std::size_t);
  cu::Status (*cuMemFree)(Address);
  cu::Status (*cuMemGetInfo)(std::size_t* free, std::size_t* total);
  cu::Status (*cuMemcpyHtoDAsync)(Address, const void*, std::size_t, cu::Stream);
  cu::Status (*cuMemcpyDtoHAsync)(void*, Address, std::size_t, cu::Stream);
  cu::Status (*cuMemcpyDtoDAsync)(Address, Address, std::size_t, cu::Stream);
  cu::Status (*cuMemsetD8Async)(Address, unsigned char, std::size_t, cu::Stream);
  cu::Status (*cuStreamCreate)(cu::Stream*, unsigned flags);
  cu::Status (*cuStreamDestroy)(cu::Stream);
  cu::Status (*cuStreamSynchronize)(cu::Stream);
  cu::Status (*cuStreamBeginCapture)(cu::Stream, int mode);
  cu::Status (*cuStreamEndCapture)(cu::Stream, Graph*);
  cu::Status (*cuGraphInstantiateWithFlags)(GraphExec*, Graph, unsigned long long flags);
  cu::Status (*cuGraphLaunch)(GraphExec, cu::Stream);
  cu::Status (*cuGraphExecDestroy)(GraphExec);
  cu::Status (*cuGraphDestroy)(Graph);
  cu::Status (*cuEventCreate)(Event*, unsigned flags);
  cu::Status (*cuEventDestroy)(Event);
  cu::Status (*cuEventRecord)(Event, cu::Stream);
  cu::Status (*cuEventElapsedTime)(float* milliseconds, Event start, Event end);
};

/// From libcuda.so.1, which driver() has opened. Error: the function that is missing.
Result<GpuDriver> gpu_driver();

}  // namespace flashfit::measure
