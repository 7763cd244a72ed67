#pragma once
// Instantiates a kernel under the emulator: for the translation units of shards, and of mutants, alone.
#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "proof/emu/launch.hpp"
#include "proof/emulated/kernel.hpp"

namespace flashfit::emulated {

/// `Kernel` is the type that the variant names. Throws std::logic_error if it is another: what the host takes from the
/// variant is what the kernel says of itself.
template <class Kernel>
EmulatedKernel emulated_kernel(KernelVariant variant) {
  const auto same = [&](const char* what, long said, long is) {
    if (said != is)
      throw std::logic_error(fmt::format("{}: its variant says {} {}, its type {}", variant.name, what, said, is));
  };
  same("threads", variant.threads, Kernel::kThreads);
  same("shared bytes", variant.shared_bytes, sizeof(typename Kernel::Shared));
  same("cluster", variant.cluster, emu::cluster_of<Kernel>());
  same("params bytes", variant.params_bytes, sizeof(typename Kernel::Params));
  return {
      std::move(variant),
      [](emu::Index3 grid, const void* params, const emu::Memory& memory, const emu::Options& options) {
        return emu::launch<Kernel>(grid, *static_cast<const typename Kernel::Params*>(params), memory, options);
      },
      [](const void* params) { return emu::program_of<Kernel>(*static_cast<const typename Kernel::Params*>(params)); }};
}

}  // namespace flashfit::emulated
