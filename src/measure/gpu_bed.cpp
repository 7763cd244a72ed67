#include "measure/gpu_bed.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "core/launch/launch.hpp"
#include "proof/lab/images.hpp"

namespace flashfit::lab {
std::span<const std::byte> flashfit_bench_kernels();  // the images of kernels.txt
}

namespace flashfit::measure {
namespace {

// Shared memory of the largest kernel here, WarpgroupLoop: 64 x 64 and 256 x 64 elements of 2 bytes.
constexpr int kSharedBytes = (64 + 256) * 64 * 2;

Address address(const std::byte* at) { return reinterpret_cast<Address>(at); }

}  // namespace

GpuBed::GpuBed(lab::Device device, const Driver& driver, const GpuDriver& more)
    : device_(std::move(device)), driver_(&driver), gpu_(more) {}

Result<std::unique_ptr<GpuBed>> GpuBed::open() {
  Result<lab::Device> device = lab::Device::open(0);
  if (!device) return tl::unexpected(device.error());
  const Result<const Driver*> driver = loading_driver();
  if (!driver) return tl::unexpected(driver.error());
  const Result<GpuDriver> more = gpu_driver();
  if (!more) return tl::unexpected(more.error());
  std::unique_ptr<GpuBed> bed(new GpuBed(std::move(*device), **driver, *more));
  int l2 = 0;
  std::size_t free = 0;
  const std::pair<const char*, cu::Status> steps[] = {
      {"cuDeviceGet", (*driver)->cuDeviceGet(&bed->index_, 0)},
      {"cuDeviceGetAttribute", (*driver)->cuDeviceGetAttribute(&l2, static_cast<cu::Attribute>(kL2Bytes), bed->index_)},
      {"cuMemGetInfo", more->cuMemGetInfo(&free, &bed->memory_bytes_)},
      {"cuStreamCreate", more->cuStreamCreate(&bed->stream_, kNonBlocking)},
      {"cuEventCreate", more->cuEventCreate(&bed->start_, 0)},
      {"cuEventCreate", more->cuEventCreate(&bed->end_, 0)}};
  for (const auto& [call, status] : steps)
    if (Result<void> r = bed->ok(call, status); !r) return tl::unexpected(r.error());
  bed->l2_bytes_ = static_cast<std::size_t>(l2);
  if (const Result<lab::LoadedKernel> fill = bed->kernel("fill_fp16"); !fill) return tl::unexpected(fill.error());
  return bed;
}

GpuBed::~GpuBed() {
  release();
  if (end_ != nullptr) gpu_.cuEventDestroy(end_);
  if (start_ != nullptr) gpu_.cuEventDestroy(start_);
  if (stream_ != nullptr) gpu_.cuStreamDestroy(stream_);
}

Result<void> GpuBed::ok(const char* call, cu::Status status) const {
  if (status == 0) return {};
  return fail(Code::kCuda, describe(*driver_, call, status));
}

Result<std::size_t> GpuBed::free_bytes() const {
  std::size_t free = 0, total = 0;
  if (Result<void> r = ok("cuMemGetInfo", gpu_.cuMemGetInfo(&free, &total)); !r) return tl::unexpected(r.error());
  return free;
}

Result<std::byte*> GpuBed::allocate(std::size_t bytes) {
  Address at = 0;
  if (Result<void> r = ok("cuMemAlloc", gpu_.cuMemAlloc(&at, bytes)); !r) return tl::unexpected(r.error());
  memory_.push_back(at);
  return reinterpret_cast<std::byte*>(at);  // NOLINT(performance-no-int-to-ptr): the driver's addresses are integers
}

void GpuBed::release() {
  if (stream_ != nullptr) gpu_.cuStreamSynchronize(stream_);
  drop_graph();
  for (const Address at : memory_) gpu_.cuMemFree(at);
  memory_.clear();
}

Result<void> GpuBed::poison(std::byte* at, std::size_t bytes) {
  return ok("cuMemsetD8Async", gpu_.cuMemsetD8Async(address(at), 0xff, bytes, stream_));
}

Result<void> GpuBed::upload(std::byte* at, std::span<const std::byte> from) {
  if (Result<void> r = ok("cuMemcpyHtoDAsync", gpu_.cuMemcpyHtoDAsync(address(at), from.data(), from.size(), stream_));
      !r)
    return r;
  return wait();  // `from` is the caller's
}

Result<void> GpuBed::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  return ok("cuMemcpyDtoDAsync", gpu_.cuMemcpyDtoDAsync(address(to), address(from), bytes, stream_));
}

Result<void> GpuBed::download(std::span<std::byte> to, const std::byte* from) {
  if (Result<void> r = ok("cuMemcpyDtoHAsync", gpu_.cuMemcpyDtoHAsync(to.data(), address(from), to.size(), stream_));
      !r)
    return r;
  return wait();
}

Result<lab::LoadedKernel> GpuBed::kernel(const std::string& name) {
  if (const auto known = kernels_.find(name); known != kernels_.end()) return known->second;
  const Result<lab::KernelImage> image = lab::find_kernel_image(lab::flashfit_bench_kernels(), name, gpu().cc);
  if (!image) return tl::unexpected(image.error());
  const int shared = name.starts_with("wgmma") ? kSharedBytes : 0;
  const Result<lab::LoadedKernel> loaded = device_.load(image->bytes, image->entry, 0, shared);
  if (loaded) kernels_.emplace(name, *loaded);
  return loaded;
}

bool GpuBed::has(const std::string& name) { return kernel(name).has_value(); }

Result<void> GpuBed::launch(const std::string& name, int blocks, int threads, const void* params) {
  const Result<lab::LoadedKernel> loaded = kernel(name);
  if (!loaded) return tl::unexpected(loaded.error());
  const LaunchShape shape{.grid_x = static_cast<unsigned>(blocks),
                          .threads = static_cast<unsigned>(threads),
                          .shared_bytes = static_cast<unsigned>(loaded->shared_bytes),
                          .stream = stream_};
  return ok("cuLaunchKernelEx", launch_kernel(*driver_, reinterpret_cast<cu::Kernel>(loaded->handle), shape, params));
}

Result<void> GpuBed::wait() { return ok("cuStreamSynchronize", gpu_.cuStreamSynchronize(stream_)); }

void GpuBed::drop_graph() {
  if (graph_ != nullptr) gpu_.cuGraphExecDestroy(graph_);
  graph_ = nullptr;
}

Result<void> GpuBed::capture(const std::function<Result<void>()>& queue) {
  drop_graph();
  if (Result<void> r = ok("cuStreamBeginCapture", gpu_.cuStreamBeginCapture(stream_, kCaptureModeRelaxed)); !r)
    return r;
  Result<void> queued = queue();
  Graph graph = nullptr;
  Result<void> ended = ok("cuStreamEndCapture", gpu_.cuStreamEndCapture(stream_, &graph));
  if (!queued) return queued;
  if (!ended) return ended;
  const Result<void> ready = ok("cuGraphInstantiate", gpu_.cuGraphInstantiateWithFlags(&graph_, graph, 0));
  gpu_.cuGraphDestroy(graph);
  return ready;
}

Result<void> GpuBed::replay() { return ok("cuGraphLaunch", gpu_.cuGraphLaunch(graph_, stream_)); }

Result<double> GpuBed::time(const std::function<Result<void>()>& queue) {
  if (Result<void> r = ok("cuEventRecord", gpu_.cuEventRecord(start_, stream_)); !r) return tl::unexpected(r.error());
  if (Result<void> r = queue(); !r) return tl::unexpected(r.error());
  if (Result<void> r = ok("cuEventRecord", gpu_.cuEventRecord(end_, stream_)); !r) return tl::unexpected(r.error());
  if (Result<void> r = wait(); !r) return tl::unexpected(r.error());
  float milliseconds = 0;
  if (Result<void> r = ok("cuEventElapsedTime", gpu_.cuEventElapsedTime(&milliseconds, start_, end_)); !r)
    return tl::unexpected(r.error());
  return double{milliseconds} * 1000;
}

}  // namespace flashfit::measure
