#pragma once
// One launch of a kernel, as the emulator and a GPU both run it. Include it where the kernel is instantiated.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "emu/launch.hpp"
#include "emu/tensor_map.hpp"
#include "images/tensor_map.hpp"
#include "lab/buffer.hpp"
#include "lab/device.hpp"
#include "lab/images.hpp"
#include "lab/where.hpp"

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

/// Runs it under the emulator. Error: a finding.
template <class Kernel>
Result<emu::Stats> emulate(Trial<Kernel>& trial, emu::Options options = {}) {
  emu::Memory memory;
  std::vector<void*> at;
  for (Buffer& b : trial.buffers) {
    at.push_back(b.data());
    if (b.writable())
      memory.writable(b.name(), b.data(), b.size());
    else
      memory.read_only(b.name(), b.data(), b.size());
  }
  options.kernel = trial.name;
  const Where where(at, &emu::encode_tensor_map);
  const typename Kernel::Params params = trial.params(where);
  if (!where.refused().empty()) return fail(Code::kInvalidArgument, where.refused());
  Result<emu::Stats> ran = emu::launch<Kernel>({trial.grid.x, trial.grid.y, trial.grid.z}, params, memory, options);
  if (!ran) return ran;
  if (Result<void> r = red_zones(trial.buffers, trial.name); !r) return tl::unexpected(r.error());
  return ran;
}

/// Runs the image of that name in `blob` on the GPU.
template <class Kernel>
Result<void> launch(Trial<Kernel>& trial, Device& device, std::span<const std::byte> blob) {
  const Result<KernelImage> image = find_kernel_image(blob, trial.name, device.gpu().cc);
  if (!image) return tl::unexpected(image.error());
  const Result<LoadedKernel> kernel = device.load(image->bytes, image->entry, Kernel::kThreads,
                                                  int(sizeof(typename Kernel::Shared)), emu::cluster_of<Kernel>());
  if (!kernel) return tl::unexpected(kernel.error());
  std::vector<void*> at, whole;
  for (Buffer& b : trial.buffers) {
    const Result<void*> memory = device.allocate(b.whole().size());
    if (!memory) return tl::unexpected(memory.error());
    if (Result<void> r = device.upload(*memory, b.whole()); !r) return r;
    whole.push_back(*memory);
    at.push_back(static_cast<std::byte*>(*memory) + Buffer::kLine);
  }
  const Where where(at, &encode_tensor_map);
  const typename Kernel::Params params = trial.params(where);
  if (!where.refused().empty()) return fail(Code::kInvalidArgument, where.refused());
  if (Result<void> r = device.run(*kernel, trial.grid, &params); !r) return r;
  for (std::size_t i = 0; i < whole.size(); ++i)
    if (Result<void> r = device.download(trial.buffers[i].whole(), whole[i]); !r) return r;
  device.release();
  return red_zones(trial.buffers, trial.name);
}

}  // namespace flashfit::lab
