#pragma once
// Instantiates a kernel under the emulator: for the translation units of shards, and of mutants, alone.
#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "proof/emu/launch.hpp"
#include "proof/emulated/kernel.hpp"

namespace flashfit::emulated {

/// `Kernel` is the type that the row names. Throws std::logic_error if it is another: what the host takes from the row
/// is what the kernel says of itself.
template <class Kernel>
EmulatedKernel emulated_kernel(KernelRow row) {
  const auto same = [&](const char* what, long said, long is) {
    if (said != is)
      throw std::logic_error(fmt::format("{}: its row says {} {}, its type {}", row.name, what, said, is));
  };
  same("threads", row.threads, Kernel::kThreads);
  same("shared bytes", row.shared_bytes, sizeof(typename Kernel::Shared));
  same("cluster", row.cluster, emu::cluster_of<Kernel>());
  same("params bytes", row.params_bytes, sizeof(typename Kernel::Params));
  return {std::move(row),
          [](emu::Index3 grid, const void* params, const emu::Memory& memory, const emu::Options& options) {
            return emu::launch<Kernel>(grid, *static_cast<const typename Kernel::Params*>(params), memory, options);
          }};
}

}  // namespace flashfit::emulated
