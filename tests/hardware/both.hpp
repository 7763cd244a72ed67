#pragma once
// Runs a trial on the GPU and in the emulator.
#include <optional>

#include "hardware/check.hpp"
#include "proof/lab/trial.hpp"

namespace flashfit::lab {
std::span<const std::byte> hardware_kernels();  // of kernels.txt
}

namespace flashfit::hardware {

/// The trial after the GPU's run and after the emulator's, or a failed outcome.
template <class Trial>
struct BothOf {
  Trial gpu, emulator;
  bool ran = true;

  BothOf(const Trial& trial, const Place& place, Outcome& outcome, const emu::Options& options = {})
      : gpu(trial), emulator(trial) {
    if (const Result<void> r = on_gpu(place, options); !r) {
      outcome.fail("on the GPU: " + r.error().message);
      ran = false;
    }
    if (const Result<emu::Stats> r = lab::emulate(emulator, options); !r) {
      outcome.fail("in the emulator: " + r.error().message);
      ran = false;
    }
  }

  /// Buffer i of both, as T.
  template <class T>
  Agreement compare(std::size_t i) {
    return hardware::compare(gpu.buffers[i].name(), std::span<const T>(gpu.buffers[i].template as<T>()),
                             std::span<const T>(emulator.buffers[i].template as<T>()));
  }

 private:
  Result<void> on_gpu(const Place& place, const emu::Options& options) {
    if (place.device != nullptr) return lab::launch(gpu, *place.device, lab::hardware_kernels());
    return lab::emulate(gpu, options).map([](const emu::Stats&) {});
  }
};
template <class Kernel>
using Both = BothOf<lab::Trial<Kernel>>;

}  // namespace flashfit::hardware
