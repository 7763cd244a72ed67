#pragma once
// Carried images on the GPU, and the memory of a case there.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/launch/kernel_variant.hpp"
#include "hardware/check.hpp"

namespace flashfit::hardware {

/// A part of a host allocation that the kernel sees, and its twin on the GPU.
struct Moved {
  lab::Device& device;
  Outcome& outcome;

  std::byte* up(std::span<std::byte> bytes) {
    const Result<void*> to = device.allocate(bytes.size());
    Result<void> done = to ? device.upload(*to, bytes) : tl::unexpected(to.error());
    if (!done) outcome.fail("on the GPU: " + done.error().message);
    return done ? static_cast<std::byte*>(*to) : nullptr;
  }
  void down(std::span<std::byte> bytes, const void* from) {
    if (const Result<void> r = device.download(bytes, from); !r) outcome.fail("on the GPU: " + r.error().message);
  }
};

template <class T>
std::span<std::byte> bytes_of(std::vector<T>& v) {
  return std::as_writable_bytes(std::span(v));
}

struct LoadedImage {
  std::string target;
  lab::LoadedKernel kernel;
};

/// Every image of the variant that runs on this GPU.
std::vector<LoadedImage> load_images(lab::Device& device, const KernelVariant& variant, Outcome& outcome);

}  // namespace flashfit::hardware
