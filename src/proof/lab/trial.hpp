#pragma once
// One launch of a kernel, as the emulator, the executor of PTX and a GPU run it. Include it where the kernel is
// instantiated.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "proof/emu/launch.hpp"
#include "proof/emu/tensor_map.hpp"
#include "proof/lab/buffer.hpp"
#include "proof/lab/device.hpp"
#include "proof/lab/images.hpp"
#include "proof/lab/ptx.hpp"
#include "proof/lab/where.hpp"
#include "proof/ptx/launch.hpp"
#include "runtime/images/tensor_map.hpp"

namespace flashfit::lab {

/// What one launch works on. The kernel's argument is made anew for each run: given where the buffers lie there.
template <class Kernel>
struct Trial {
  std::string name;  ///< of the kernel: in findings, and in the list that images were made from
  Extent grid;
  std::vector<Buffer> buffers;
  std::function<typename Kernel::Params(const Where& where)> params;
};

inline Result<void> red_zones(std::vector<Buffer>& buffers, const std::string& kernel) {
  for (Buffer& b : buffers)
    if (!b.red_zones_intact())
      return fail(Code::kInternal, kernel + ": memory before or after " + b.name() + " was written");
  return {};
}

/// Where the buffers lie on the CPU, and what a kernel may do with each.
struct Emulated {
  emu::Memory memory;
  std::vector<void*> at;

  explicit Emulated(std::vector<Buffer>& buffers) {
    for (Buffer& b : buffers) {
      at.push_back(b.data());
      if (b.writable())
        memory.writable(b.name(), b.data(), b.size());
      else
        memory.read_only(b.name(), b.data(), b.size());
    }
  }
};

/// Runs it on the CPU: `launch` gets its argument, the memory that it may touch, and the options with its name.
template <class Kernel, class Launch>
Result<emu::Stats> on_cpu(Trial<Kernel>& trial, emu::Options options, const Launch& launch) {
  const Emulated on(trial.buffers);
  options.kernel = trial.name;
  const Where where(on.at, &emu::encode_tensor_map);
  const typename Kernel::Params params = trial.params(where);
  if (!where.refused().empty()) return fail(Code::kInvalidArgument, where.refused());
  Result<emu::Stats> ran = launch(params, on.memory, options);
  if (!ran) return ran;
  if (Result<void> r = red_zones(trial.buffers, trial.name); !r) return tl::unexpected(r.error());
  return ran;
}

/// Runs it under the emulator. Error: a finding.
template <class Kernel>
Result<emu::Stats> emulate(Trial<Kernel>& trial, const emu::Options& options = {}) {
  return on_cpu(trial, options,
                [&](const typename Kernel::Params& params, const emu::Memory& memory, const emu::Options& named) {
                  return emu::launch<Kernel>({trial.grid.x, trial.grid.y, trial.grid.z}, params, memory, named);
                });
}

/// Runs its PTX, which is what the compiler of images made of it, on the CPU. Error: a finding.
template <class Kernel>
Result<emu::Stats> execute(Trial<Kernel>& trial, const ptx::Program& program, const emu::Options& options = {}) {
  return on_cpu(trial, options,
                [&](const typename Kernel::Params& params, const emu::Memory& memory, const emu::Options& named) {
                  return ptx::launch(program,
                                     {.grid = {trial.grid.x, trial.grid.y, trial.grid.z},
                                      .threads = {Kernel::kThreads, 1, 1},
                                      .dynamic_shared = sizeof(typename Kernel::Shared),
                                      .cluster = emu::cluster_of<Kernel>()},
                                     std::as_bytes(std::span(&params, 1)), memory, named);
                });
}
/// The same with the newest PTX of that name in `blob`.
template <class Kernel>
Result<emu::Stats> execute(Trial<Kernel>& trial, std::span<const std::byte> blob, const emu::Options& options = {}) {
  const auto program = kernel_ptx(blob, trial.name);
  if (!program) return tl::unexpected(program.error());
  return execute(trial, **program, options);
}

/// Copies of the buffers in the GPU's memory.
class OnDevice {
 public:
  OnDevice(std::vector<Buffer>& buffers, Device& device) : buffers_(buffers), device_(device) {}

  Result<void> upload() {
    for (Buffer& b : buffers_) {
      const Result<void*> memory = device_.allocate(b.whole().size());
      if (!memory) return tl::unexpected(memory.error());
      if (Result<void> r = device_.upload(*memory, b.whole()); !r) return r;
      whole_.push_back(*memory);
      at_.push_back(static_cast<std::byte*>(*memory) + Buffer::kLine);
    }
    return {};
  }
  Result<void> download() {
    for (std::size_t i = 0; i < whole_.size(); ++i)
      if (Result<void> r = device_.download(buffers_[i].whole(), whole_[i]); !r) return r;
    device_.release();
    return {};
  }
  const std::vector<void*>& at() const { return at_; }

 private:
  std::vector<Buffer>& buffers_;
  Device& device_;
  std::vector<void*> at_, whole_;
};

/// The image of that name in `blob`, loaded.
template <class Kernel>
Result<LoadedKernel> load(const std::string& name, Device& device, std::span<const std::byte> blob) {
  const Result<KernelImage> image = find_kernel_image(blob, name, device.gpu().cc);
  if (!image) return tl::unexpected(image.error());
  return device.load(image->bytes, image->entry, Kernel::kThreads, int(sizeof(typename Kernel::Shared)),
                     emu::cluster_of<Kernel>());
}

/// Runs the image of that name in `blob` on the GPU.
template <class Kernel>
Result<void> launch(Trial<Kernel>& trial, Device& device, std::span<const std::byte> blob) {
  const Result<LoadedKernel> kernel = load<Kernel>(trial.name, device, blob);
  if (!kernel) return tl::unexpected(kernel.error());
  OnDevice on(trial.buffers, device);
  if (Result<void> r = on.upload(); !r) return r;
  const Where where(on.at(), &encode_tensor_map);
  const typename Kernel::Params params = trial.params(where);
  if (!where.refused().empty()) return fail(Code::kInvalidArgument, where.refused());
  if (Result<void> r = device.run(*kernel, trial.grid, &params); !r) return r;
  if (Result<void> r = on.download(); !r) return r;
  return red_zones(trial.buffers, trial.name);
}

/// Two launches on the same buffers, the second one a programmatic dependent launch.
template <class First, class Second>
struct DependentTrial {
  template <class Kernel>
  struct Part {
    std::string name;
    Extent grid;
    std::function<typename Kernel::Params(const Where& where)> params;
  };
  Part<First> first;
  Part<Second> second;
  std::vector<Buffer> buffers;
};

template <class First, class Second>
Result<emu::Stats> emulate(DependentTrial<First, Second>& trial, const emu::Options& options = {}) {
  const Emulated on(trial.buffers);
  const Where where(on.at, &emu::encode_tensor_map);
  const typename First::Params p = trial.first.params(where);
  const typename Second::Params q = trial.second.params(where);
  if (!where.refused().empty()) return fail(Code::kInvalidArgument, where.refused());
  const Extent one = trial.first.grid, two = trial.second.grid;
  Result<emu::Stats> ran =
      emu::launch_dependent<First, Second>({trial.first.name.c_str(), {one.x, one.y, one.z}, p, on.memory},
                                           {trial.second.name.c_str(), {two.x, two.y, two.z}, q, on.memory}, options);
  if (!ran) return ran;
  if (Result<void> r = red_zones(trial.buffers, trial.second.name); !r) return tl::unexpected(r.error());
  return ran;
}

template <class First, class Second>
Result<void> launch(DependentTrial<First, Second>& trial, Device& device, std::span<const std::byte> blob) {
  const Result<LoadedKernel> first = load<First>(trial.first.name, device, blob);
  if (!first) return tl::unexpected(first.error());
  const Result<LoadedKernel> second = load<Second>(trial.second.name, device, blob);
  if (!second) return tl::unexpected(second.error());
  OnDevice on(trial.buffers, device);
  if (Result<void> r = on.upload(); !r) return r;
  const Where where(on.at(), &encode_tensor_map);
  const typename First::Params p = trial.first.params(where);
  const typename Second::Params q = trial.second.params(where);
  if (!where.refused().empty()) return fail(Code::kInvalidArgument, where.refused());
  if (Result<void> r = device.run_dependent({*first, trial.first.grid, &p}, {*second, trial.second.grid, &q}); !r)
    return r;
  if (Result<void> r = on.download(); !r) return r;
  return red_zones(trial.buffers, trial.second.name);
}

}  // namespace flashfit::lab
