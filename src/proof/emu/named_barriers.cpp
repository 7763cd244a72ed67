#include "proof/emu/named_barriers.hpp"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "proof/emu/machine.hpp"
#include "proof/emu/thread_sanitizer.hpp"

namespace flashfit::emu {
namespace {

std::string name_of(int id) { return id == 0 ? "sync_block" : fmt::format("named barrier {}", id); }

}  // namespace

NamedBarriers::NamedBarriers(int first_warp, int warps) : first_warp_(first_warp) {
  for (int id = 0; id < kCount; ++id) {
    Barrier& b = barriers_[static_cast<std::size_t>(id)];
    b.id = id;
    b.warps.resize(static_cast<std::size_t>(warps));
  }
}

std::string NamedBarriers::describe(const void* barrier) {
  const Barrier& b = *static_cast<const Barrier*>(barrier);
  if (b.threads == kAll) return name_of(b.id);
  return fmt::format("{} ({} of {} threads are there)", name_of(b.id), b.arrived, b.threads);
}

bool NamedBarriers::arrive(Machine& machine, int id, int threads, int live, bool waits, Site site, bool says) {
  Barrier& b = barriers_[static_cast<std::size_t>(id)];
  Warp& warp = b.warps[static_cast<std::size_t>(machine.warp())];
  const std::uint32_t bit = std::uint32_t{1} << machine.lane();
  if (b.arrived == 0) {
    b.threads = threads;
    b.site = site;
  } else if (b.threads != threads) {
    machine.stop(
        fmt::format("{} for {} threads, while {} says {}", name_of(id), threads, Machine::in_words(b.site), b.threads),
        &site);
  }
  if ((warp.arrived & bit) != 0)
    machine.stop(
        fmt::format("arrives twice at {}, of whose {} threads {} are there", name_of(id), b.threads, b.arrived), &site);
  if (warp.arrived == 0)
    warp.site = site;
  else if (!(warp.site == site))
    machine.stop(fmt::format("{} while {} of its warp wait in the one at {}", name_of(id),
                             Machine::lanes_in_words(warp.arrived), Machine::in_words(warp.site)),
                 &site);
  warp.arrived |= bit;
  b.said |= says;
  ++b.arrived;
  machine.publish(b.knowledge);
  tsan::release(&b);
  if (waits) warp.waiting |= bit;
  if (b.arrived == (threads == kAll ? live : threads))
    release(machine, b);
  else if (waits)
    machine.suspend({describe, &b, site});
  if (waits) tsan::acquire(&b);
  return b.answer;
}

void NamedBarriers::release_if_complete(Machine& machine, int live) {
  Barrier& all = barriers_[0];
  if (all.arrived != 0 && all.arrived == live) release(machine, all);
}

void NamedBarriers::release(Machine& machine, Barrier& b) const {
  for (std::size_t w = 0; w < b.warps.size(); ++w) {
    const std::uint32_t waiting = std::exchange(b.warps[w], {}).waiting;
    machine.wake(first_warp_ + static_cast<int>(w), waiting, b.knowledge);
  }
  b.arrived = 0;
  b.answer = std::exchange(b.said, false);
  b.knowledge.clear();
}

}  // namespace flashfit::emu
