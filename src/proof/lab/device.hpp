#pragma once
// A GPU for trials of kernels: memory, loading and waiting, through the driver.
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/base/error.hpp"
#include "core/gpu/gpu.hpp"

namespace flashfit::lab {

/// Where a launch runs.
struct Extent {
  int x = 1, y = 1, z = 1;
};

/// A kernel that the driver has loaded; valid as long as its Device.
struct LoadedKernel {
  struct KernelHandle* handle = nullptr;
  int threads = 0, shared_bytes = 0;  ///< of a block
  int cluster = 1;                    ///< blocks of a cluster, along x
};

class Device {
 public:
  /// GPU `index` of this process. Its primary context becomes the calling thread's current one.
  static Result<Device> open(int index = 0);
  Device(Device&&) noexcept;
  Device& operator=(Device&&) noexcept;
  ~Device();

  const Gpu& gpu() const;
  int driver_version() const;  ///< 12090 is 12.9

  /// A cubin or zero-terminated PTX, and the kernel in it of that (lowered) name, allowed its shared memory.
  Result<LoadedKernel> load(std::span<const std::byte> image, const std::string& entry, int threads, int shared_bytes,
                            int cluster = 1);
  /// The argument is copied from `params`. Waits until the launch has ended; its failure ends the context.
  Result<void> run(const LoadedKernel& kernel, Extent grid, const void* params);
  /// Two of them, the second as a programmatic dependent launch: it may begin before the first has ended.
  struct Launch {
    LoadedKernel kernel;
    Extent grid;
    const void* params;
  };
  Result<void> run_dependent(const Launch& first, const Launch& second);

  /// Memory of the GPU; all of it is freed with the Device or by release().
  Result<void*> allocate(std::size_t bytes);
  Result<void> upload(void* to, std::span<const std::byte> from);
  Result<void> download(std::span<std::byte> to, const void* from);
  void release();

 private:
  struct State;
  Result<void> start(const Launch& launch, bool dependent);
  Result<void> wait();
  explicit Device(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace flashfit::lab
