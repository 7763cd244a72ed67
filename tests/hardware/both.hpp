#pragma once
// Runs a trial on the GPU and in the emulator.
#include <optional>

#include "hardware/check.hpp"
#include "lab/trial.hpp"

namespace flashfit::lab {
std::span<const std::byte> hardware_kernels();  // of kernels.txt
}

namespace flashfit::hardware {

/// The trial after the GPU's run and after the emulator's, or a failed outcome.
template <class Kernel>
struct Both {
  lab::Trial<Kernel> gpu, emulator;
  bool ran = true;

  Both(const lab::Trial<Kernel>& trial, lab::Device& device, Outcome& outcome, const emu::Options& options = {})
      : gpu(trial), emulator(trial) {
    if (const Result<void> r = lab::launch(gpu, device, lab::hardware_kernels()); !r) {
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
};

}  // namespace flashfit::hardware
