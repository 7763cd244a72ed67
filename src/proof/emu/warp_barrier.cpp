#include "proof/emu/warp_barrier.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "proof/emu/machine.hpp"
#include "proof/emu/thread_sanitizer.hpp"

namespace flashfit::emu {

void WarpBarrier::sync(Machine& machine, std::uint32_t mask, std::uint32_t left, Site site) {
  const std::uint32_t self = std::uint32_t{1} << machine.lane();
  if ((mask & self) == 0) machine.stop(fmt::format("sync_warp of lanes {:#x}, not of this one", mask), &site);
  if ((mask & left) != 0)
    machine.stop(fmt::format("sync_warp without {}, which left the kernel", Machine::lanes_in_words(mask & left)),
                 &site);
  auto set = std::find_if(sets_.begin(), sets_.end(), [&](const Set& s) { return (s.mask & mask) != 0; });
  if (set == sets_.end()) set = sets_.insert(set, {mask, 0, {}});
  if (set->mask != mask)
    machine.stop(fmt::format("sync_warp of lanes {:#x}, while {} wait in one of lanes {:#x}", mask,
                             Machine::lanes_in_words(set->arrived), set->mask),
                 &site);
  set->arrived |= self;
  machine.publish(set->knowledge);
  tsan::release(this);
  if (set->arrived != mask) {
    machine.suspend({[](const void*) -> std::string { return "sync_warp"; }, this, site});
    tsan::acquire(this);
    return;
  }
  const Set complete = std::move(*set);
  sets_.erase(set);
  machine.wake(machine.thread() / kLanes, mask, complete.knowledge);
  tsan::acquire(this);
}

std::string WarpBarrier::waiting_for(int lane) const {
  for (const Set& s : sets_)
    if (s.mask >> lane & 1) return fmt::format("{} wait for it in sync_warp", Machine::lanes_in_words(s.arrived));
  return {};
}

}  // namespace flashfit::emu
