#pragma once
// A GPU to measure on: one stream, two events, the kernels of this folder.
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/gpu/gpu.hpp"
#include "measure/gpu_driver.hpp"
#include "proof/lab/device.hpp"

namespace flashfit::measure {

class GpuBed {
 public:
  /// GPU 0 of this process. Errors: the driver's; none of this folder's kernels runs there.
  static Result<std::unique_ptr<GpuBed>> open();
  GpuBed(const GpuBed&) = delete;
  GpuBed& operator=(const GpuBed&) = delete;
  ~GpuBed();

  const Gpu& gpu() const { return device_.gpu(); }
  std::size_t l2_bytes() const { return l2_bytes_; }
  std::size_t memory_bytes() const { return memory_bytes_; }
  Result<std::size_t> free_bytes() const;
  cu::Stream stream() const { return stream_; }

  /// Freed by release(), or with the bed.
  Result<std::byte*> allocate(std::size_t bytes);
  void release();

  // Queued on the stream, but for download(), which waits.
  Result<void> poison(std::byte* at, std::size_t bytes);
  Result<void> upload(std::byte* at, std::span<const std::byte> from);
  Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes);
  Result<void> download(std::span<std::byte> to, const std::byte* from);
  /// `name`: a kernel of kernels.txt. `params` is copied.
  Result<void> launch(const std::string& name, int blocks, int threads, const void* params);
  bool has(const std::string& name);
  Result<void> wait();

  /// A graph of what `queue` puts on the stream, ready for replay(); the last one's is gone.
  Result<void> capture(const std::function<Result<void>()>& queue);
  Result<void> replay();

  /// Microseconds on the GPU's clock of what `queue` puts on the stream.
  Result<double> time(const std::function<Result<void>()>& queue);

 private:
  GpuBed(lab::Device device, const Driver& driver, const GpuDriver& more);
  Result<void> ok(const char* call, cu::Status status) const;
  Result<lab::LoadedKernel> kernel(const std::string& name);
  void drop_graph();

  lab::Device device_;
  const Driver* driver_;
  GpuDriver gpu_;
  cu::Device index_ = 0;
  std::size_t l2_bytes_ = 0, memory_bytes_ = 0;
  cu::Stream stream_ = nullptr;
  Event start_ = nullptr, end_ = nullptr;
  GraphExec graph_ = nullptr;
  std::map<std::string, lab::LoadedKernel> kernels_;
  std::vector<Address> memory_;
};

}  // namespace flashfit::measure
