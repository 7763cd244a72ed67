// What the benchmarks and Python's tests ask of the driver beyond what flashfit calls: memory, streams, events and
// graphs. Memory is the host's, so that a copy is one; work on streams is done when it is asked for.
#include <cstdint>

#include "fake_cuda.hpp"

namespace {

constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kInvalidContext = 201;
std::map<std::uint64_t, std::size_t> allocated;  // address and bytes
std::mutex mutex;

/// Whether bytes [address, address + bytes) lie in one allocation.
bool inside(std::uint64_t address, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  auto after = allocated.upper_bound(address);
  if (after == allocated.begin()) return false;
  const auto& [start, size] = *--after;
  return address - start <= size && bytes <= size - (address - start);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" fake_cuda::State* fake_cuda_state();
#pragma GCC visibility pop

namespace {

bool is_capturing(const fake_cuda::Stream* stream) {
  auto& s = *fake_cuda_state();
  const std::lock_guard lock(s.mutex);
  return s.captures.contains(stream);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int cuCtxGetCurrent(fake_cuda::Context** context);
int cuCtxGetDevice(int* device);
int cuCtxPushCurrent_v2(fake_cuda::Context* context);
int cuCtxPopCurrent_v2(fake_cuda::Context** context);

int cuCtxSetCurrent(fake_cuda::Context* context) {
  int device = 0;
  fake_cuda::Context* old = nullptr;
  if (cuCtxGetDevice(&device) == kSuccess) cuCtxPopCurrent_v2(&old);
  return cuCtxPushCurrent_v2(context);
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  auto& s = *fake_cuda_state();
  const std::lock_guard lock(s.mutex);
  return s.retained[device]-- > 0 ? kSuccess : kInvalidContext;
}

int cuCtxCreate_v2(fake_cuda::Context** context, unsigned, int device) {
  auto& s = *fake_cuda_state();
  {
    const std::lock_guard lock(s.mutex);
    s.contexts.insert(*context = new fake_cuda::Context{device, false});
  }
  return cuCtxPushCurrent_v2(*context);
}

int cuCtxDestroy_v2(fake_cuda::Context* context) {
  fake_cuda::Context* current = nullptr;
  cuCtxGetCurrent(&current);
  if (current == context) cuCtxPopCurrent_v2(&current);
  auto& s = *fake_cuda_state();
  const std::lock_guard lock(s.mutex);
  if (s.contexts.erase(context) == 0) return kInvalidContext;
  delete context;
  return kSuccess;
}

int cuCtxSynchronize() {
  int device = 0;
  return cuCtxGetDevice(&device);
}

int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  int device = 0;
  if (cuCtxGetDevice(&device) != kSuccess) return kInvalidContext;
  if (bytes == 0) return kInvalidValue;
  void* const made = bytes >> 40 ? nullptr : std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!made) return kOutOfMemory;
  *address = reinterpret_cast<std::uint64_t>(made);
  const std::lock_guard lock(mutex);
  allocated[*address] = bytes;
  return kSuccess;
}

int cuMemFree_v2(std::uint64_t address) {
  const std::lock_guard lock(mutex);
  if (allocated.erase(address) == 0) return kInvalidValue;
  std::free(reinterpret_cast<void*>(address));
  return kSuccess;
}

int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  if (!inside(to, bytes)) return kInvalidValue;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return kSuccess;
}

int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  if (!inside(from, bytes)) return kInvalidValue;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return kSuccess;
}

int cuMemcpyDtoD_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes) {
  return inside(from, bytes) ? cuMemcpyHtoD_v2(to, reinterpret_cast<const void*>(from), bytes) : kInvalidValue;
}

int cuMemsetD16_v2(std::uint64_t to, std::uint16_t value, std::size_t count) {
  if (to % 2 || !inside(to, 2 * count)) return kInvalidValue;
  auto* const first = reinterpret_cast<std::uint16_t*>(to);
  for (std::size_t i = 0; i < count; ++i) first[i] = value;
  return kSuccess;
}

int cuStreamCreate(fake_cuda::Stream** stream, unsigned flags) {
  fake_cuda::Context* current = nullptr;
  if (flags > 1) return kInvalidValue;
  if (cuCtxGetCurrent(&current) != kSuccess || !current) return kInvalidContext;
  auto& s = *fake_cuda_state();
  const std::lock_guard lock(s.mutex);
  s.streams.insert(*stream = new fake_cuda::Stream{current});
  return kSuccess;
}

int cuStreamDestroy_v2(fake_cuda::Stream* stream) {
  auto& s = *fake_cuda_state();
  const std::lock_guard lock(s.mutex);
  if (s.streams.erase(stream) == 0) return kInvalidValue;
  delete stream;
  return kSuccess;
}

int cuStreamSynchronize(fake_cuda::Stream* stream) {
  auto& s = *fake_cuda_state();
  const std::lock_guard lock(s.mutex);
  return s.streams.contains(stream) ? kSuccess : kInvalidValue;
}

int cuStreamBeginCapture_v2(fake_cuda::Stream* stream, int mode) {
  if (!stream || mode > 2) return kInvalidValue;
  auto& s = *fake_cuda_state();
  const std::lock_guard lock(s.mutex);
  return s.captures.emplace(stream, new fake_cuda::Graph).second ? kSuccess : kInvalidValue;
}
int cuStreamEndCapture(fake_cuda::Stream* stream, fake_cuda::Graph** graph) {
  auto& s = *fake_cuda_state();
  const std::lock_guard lock(s.mutex);
  const auto capture = s.captures.find(stream);
  if (capture == s.captures.end()) return kInvalidValue;
  *graph = capture->second;
  s.captures.erase(capture);
  return kSuccess;
}
int cuGraphInstantiateWithFlags(fake_cuda::Graph** ready, fake_cuda::Graph* graph, unsigned long long flags) {
  if (!graph || flags != 0) return kInvalidValue;
  *ready = new fake_cuda::Graph(*graph);
  return kSuccess;
}
int cuGraphLaunch(fake_cuda::Graph* ready, fake_cuda::Stream* stream) {
  if (!ready || !stream) return kInvalidValue;
  for (const auto& work : ready->work) {
    ++fake_cuda_state()->launched;
    if (work) work();
  }
  return kSuccess;
}
int cuGraphDestroy(fake_cuda::Graph* graph) {
  delete graph;
  return kSuccess;
}
int cuGraphExecDestroy(fake_cuda::Graph* ready) { return cuGraphDestroy(ready); }

/// An event is the number of launches before it.
int cuEventCreate(long** event, unsigned flags) {
  *event = new long(0);
  return flags == 0 ? kSuccess : kInvalidValue;
}
int cuEventRecord(long* event, fake_cuda::Stream*) {
  if (event) *event = fake_cuda_state()->launched;
  return event ? kSuccess : kInvalidValue;
}
// NOLINTNEXTLINE(readability-non-const-parameter): as the driver declares it
int cuEventSynchronize(long* event) { return event ? kSuccess : kInvalidValue; }
int cuEventElapsedTime(float* milliseconds, const long* start, const long* end) {
  if (!start || !end || start == end) return kInvalidValue;
  const double launch_us = fake_cuda_state()->launch_us;
  *milliseconds = launch_us > 0 ? static_cast<float>(static_cast<double>(*end - *start) * launch_us * 1e-3) : 1.0f;
  return kSuccess;
}
// NOLINTNEXTLINE(readability-non-const-parameter): as the driver declares it
int cuEventDestroy_v2(long* event) {
  delete event;
  return kSuccess;
}

int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *free = *total = fake_cuda_state()->memory;
  return kSuccess;
}
int cuDeviceGetPCIBusId(char* text, int bytes, int device) {
  std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02x:00.0", device - fake_cuda::kFirstDeviceHandle + 1);
  return kSuccess;
}

// Queued on a stream, which is to do them now. None is captured: the benchmarks' graphs hold launches alone.
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, fake_cuda::Stream* stream) {
  return is_capturing(stream) ? kInvalidValue : cuMemcpyHtoD_v2(to, from, bytes);
}
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, fake_cuda::Stream* stream) {
  return is_capturing(stream) ? kInvalidValue : cuMemcpyDtoH_v2(to, from, bytes);
}
int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, fake_cuda::Stream* stream) {
  return is_capturing(stream) ? kInvalidValue : cuMemcpyDtoD_v2(to, from, bytes);
}
int cuMemsetD8Async(std::uint64_t to, unsigned char value, std::size_t bytes, fake_cuda::Stream* stream) {
  if (is_capturing(stream) || !inside(to, bytes)) return kInvalidValue;
  std::memset(reinterpret_cast<void*>(to), value, bytes);
  return kSuccess;
}

/// Launches so far, for tests that cannot read the State.
int fake_cuda_launches() {
  auto& s = *fake_cuda_state();
  const std::lock_guard lock(s.mutex);
  return static_cast<int>(s.launches.size());
}

/// Allocations that are not freed.
int fake_cuda_allocations() {
  const std::lock_guard lock(mutex);
  return static_cast<int>(allocated.size());
}

}  // extern "C"
#pragma GCC visibility pop
