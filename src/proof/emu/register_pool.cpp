#include "proof/emu/register_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/gpu/limits.hpp"
#include "proof/emu/machine.hpp"

namespace flashfit::emu {

int RegisterPool::at_launch(int threads, int blocks) {
  return std::min(kMost, kRegistersPerSm / (threads * blocks) / kStep * kStep);
}

void RegisterPool::set(Machine& machine, int registers, bool increase, Site site) {
  const char* const name = increase ? "set_max_registers_inc" : "set_max_registers_dec";
  if (registers < kLeast || registers > kMost || registers % kStep != 0)
    machine.stop(
        fmt::format("{}<{}>: registers must be a multiple of {} from {} to {}", name, registers, kStep, kLeast, kMost),
        &site);
  if (warps_.size() % kWarpgroupWarps != 0)
    machine.stop(fmt::format("{} in a block of {} warps, which is no whole number of warpgroups", name, warps_.size()),
                 &site);
  Warp& warp = warps_[static_cast<std::size_t>(machine.warp())];
  // Lane by lane the warp comes here once more than it changes anything: the first one did.
  if (warp.registers == registers && !warp.history.empty() && warp.history.back() == registers) return;
  if (increase ? registers < warp.registers : registers > warp.registers)
    machine.stop(fmt::format("{}<{}>, while the warp has {}", name, registers, warp.registers), &site);
  while (warp.registers != registers && free_ < registers - warp.registers) {
    waiting_.push_back(machine.thread());
    machine.suspend({[](const void* on) {
                       return fmt::format("set_max_registers_inc ({} registers a lane of one warp are free)",
                                          static_cast<const RegisterPool*>(on)->free_);
                     },
                     this, site});
  }
  if (warp.registers == registers && !warp.history.empty() && warp.history.back() == registers) return;
  free_ -= registers - warp.registers;
  warp.registers = registers;
  warp.history.push_back(registers);
  for (const int thread : std::exchange(waiting_, {})) machine.wake(thread);
}

std::string RegisterPool::unequal() const {
  for (std::size_t w = 0; w < warps_.size(); ++w) {
    const std::size_t first = w / kWarpgroupWarps * kWarpgroupWarps;
    if (warps_[w].history != warps_[first].history)
      return fmt::format("warps {} and {} of one warpgroup did not set the same numbers of registers", first, w);
  }
  return {};
}

}  // namespace flashfit::emu
