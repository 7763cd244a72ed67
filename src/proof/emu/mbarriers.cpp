#include "proof/emu/mbarriers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "proof/emu/engines.hpp"
#include "proof/emu/machine.hpp"
#include "proof/emu/thread_sanitizer.hpp"

namespace flashfit::emu {
namespace {

/// What the object holds: nothing that a kernel computes.
std::uint64_t pattern(std::uintptr_t address) { return 0x6d62617272696572u ^ address << 1; }

}  // namespace

bool MBarriers::intact(const Entry& entry) {
  std::uint64_t held;
  std::memcpy(&held, reinterpret_cast<const void*>(entry.first), kBytes);
  return held == pattern(entry.first);
}

std::string MBarriers::in_words(const Machine& machine, const Entry& entry) {
  const auto& [address, b] = entry;
  return fmt::format("the mbarrier at {} (phase {}, {} of {} arrivals pending{}, {} bytes to come)",
                     machine.shared_in_words(address), b.phase - b.first_phase, b.pending, b.expected,
                     b.copying == 0 ? "" : fmt::format(", of which copies make {}", b.copying), b.bytes);
}

void MBarriers::init(Machine& machine, std::uintptr_t address, int arrivals, Site site) {
  const tsan::Unseen unseen;
  machine.check_shared(address, kBytes, site);
  if (arrivals < 1 || arrivals > kMostArrivals)
    machine.stop(fmt::format("mbarrier_init for {} arrivals, which must be 1 to {}", arrivals, kMostArrivals), &site);
  if (const std::string other = overlapping(machine, address, kBytes); !other.empty())
    machine.stop(fmt::format("mbarrier_init over {}, which is live: mbarrier_inval comes first", other), &site);
  machine.access(address, kBytes, Access::kWrite, "mbarrier_init", site);
  Barrier& b = barriers_[address];
  if (b.agent < 0) b.agent = machine.order()->new_agent();
  b.live = true;
  b.expected = b.pending = arrivals;
  b.bytes = 0;
  b.first_phase = b.phase += b.phase & 1;  // the first phase has parity 0
  b.made = machine.order()->now(machine.thread());
  b.fenced.agent = -1;
  b.made_at = site;
  const std::uint64_t held = pattern(address);
  std::memcpy(reinterpret_cast<void*>(address), &held, kBytes);
}

void MBarriers::inval(Machine& machine, std::uintptr_t address, Site site) {
  Barrier& b = use(machine, address, "mbarrier_inval", site);
  const Entry& entry = *barriers_.find(address);
  if (!b.waiters.empty())
    machine.stop(fmt::format("mbarrier_inval of {}, while {} waits for it", in_words(machine, entry),
                             machine.thread_in_words(b.waiters.front().thread)),
                 &site);
  if (b.bytes != 0 || b.copying != 0) machine.stop("mbarrier_inval of " + in_words(machine, entry), &site);
  if (!machine.order()->of(machine.thread()).seen.reached(b.used))
    machine.stop(fmt::format("mbarrier_inval of {}, which other threads may still use: no synchronisation with them",
                             in_words(machine, entry)),
                 &site);
  b.live = false;
  machine.access(address, kBytes, Access::kWrite, "mbarrier_inval", site);
}

void MBarriers::fence_init(Machine& machine) {
  Order& order = *machine.order();
  for (auto& [address, b] : barriers_)
    if (b.live && b.made.agent == machine.thread() && b.fenced.agent < 0) b.fenced = order.now(machine.thread());
  order.tick(machine.thread());
}

MBarriers::Barrier& MBarriers::use(Machine& machine, std::uintptr_t address, const char* what, Site site) {
  const auto found = barriers_.find(address);
  if (found == barriers_.end() || !found->second.live)
    machine.stop(
        fmt::format("{} on {}, where no mbarrier has been initialised", what, machine.shared_in_words(address)), &site);
  Barrier& b = found->second;
  if (!machine.order()->of(machine.thread()).seen.reached(b.made))
    machine.stop(
        fmt::format("{} on {}, which {} initialised at {}: no synchronisation between them", what,
                    in_words(machine, *found), machine.thread_in_words(b.made.agent), Machine::in_words(b.made_at)),
        &site);
  if (!intact(*found))
    machine.stop(fmt::format("{} on {}, whose bytes somebody has written over", what, in_words(machine, *found)),
                 &site);
  b.used.reach(machine.order()->now(machine.thread()));
  return b;
}

void MBarriers::arrive(Machine& machine, std::uintptr_t address, int count, Site site) {
  const tsan::Unseen unseen;
  Barrier& b = use(machine, address, "mbarrier_arrive", site);
  Entry& entry = *barriers_.find(address);
  if (count < 1 || count > b.pending - b.copying)
    machine.stop(fmt::format("{} arrivals at {}", count, in_words(machine, entry)), &site);
  machine.count(&Stats::mbarrier_arrivals);
  b.pending -= count;
  const bool abroad = !machine.in_own_block(address);
  if (abroad) machine.use_abroad(address, "mbarrier_arrive_remote", site);
  machine.publish(abroad ? b.published_abroad : b.published);
  tsan::release(&b);
  complete_if_due(machine, entry, machine.thread(), site);
}

void MBarriers::expect_copies(Machine& machine, std::uintptr_t address, bool counted, const char* what, Site site) {
  Barrier& b = use(machine, address, what, site);
  if (!counted && b.pending < kMostArrivals) ++b.pending;
  if (b.copying == b.pending)
    machine.stop(
        fmt::format("{} at {}: there is no arrival left for it", what, in_words(machine, *barriers_.find(address))),
        &site);
  ++b.copying;
  machine.count(&Stats::mbarrier_arrivals);
}

void MBarriers::arrive_for_copies(Machine& machine, std::uintptr_t address, Moment done, int thread, Site site) {
  Entry& entry = *barriers_.find(address);
  Barrier& b = entry.second;
  --b.pending;
  --b.copying;
  b.published.seen.reach(done);
  tsan::release(&b);
  complete_if_due(machine, entry, thread, site);
}

void MBarriers::expect_bytes(Machine& machine, std::uintptr_t address, int bytes, Site site) {
  Barrier& b = use(machine, address, "mbarrier_expect_tx", site);
  Entry& entry = *barriers_.find(address);
  if (bytes < 0 || b.bytes + bytes > kMostBytes)
    machine.stop(fmt::format("expects {} more bytes at {}, where {} at most can be pending", bytes,
                             in_words(machine, entry), kMostBytes),
                 &site);
  b.bytes += bytes;
  complete_if_due(machine, entry, machine.thread(), site);
}

void MBarriers::check_parity(Machine& machine, std::uintptr_t address, int parity, Site site) {
  if (parity == 0 || parity == 1) return;
  machine.stop(fmt::format("asks for parity {} of {}: 0 and 1 are accepted", parity,
                           in_words(machine, *barriers_.find(address))),
               &site);
}

bool MBarriers::test(Machine& machine, std::uintptr_t address, int parity, Site site) {
  const Barrier& b = use(machine, address, "mbarrier_test", site);
  check_parity(machine, address, parity, site);
  if (static_cast<int>(b.phase & 1) == parity) {
    // Who asks again and again lets others run, and engines when those ask too.
    ++unanswered_;
    if (unanswered_ % kPatience == 0 && !machine.transfers().step() && unanswered_ > kPatience * kPatience)
      machine.stop("deadlock: asks for ever for " + in_words(machine, *barriers_.find(address)), &site);
    machine.yield_to_any();
    return false;
  }
  machine.order()->learn(machine.thread(), b.completed);
  tsan::acquire(&b);
  return true;
}

void MBarriers::wait(Machine& machine, std::uintptr_t address, int parity, bool cluster, Site site) {
  const tsan::Unseen unseen;
  machine.count(&Stats::mbarrier_waits);
  Barrier& b = use(machine, address, "mbarrier_wait", site);
  check_parity(machine, address, parity, site);
  if (static_cast<int>(b.phase & 1) == parity) {
    b.waiters.push_back({machine.thread(), b.phase});
    machine.suspend({[](const void* entry) { return in_words(Machine::current(), *static_cast<const Entry*>(entry)); },
                     &*barriers_.find(address), site});
    std::erase_if(b.waiters, [&](const Waiter& w) { return w.thread == machine.thread(); });
  }
  machine.learn(b.completed);
  if (cluster) machine.learn(b.completed_abroad);
  tsan::acquire(&b);
}

std::uint32_t MBarriers::phase(Machine& machine, std::uintptr_t address, Site site) {
  return use(machine, address, "mbarrier_arrive", site).phase;
}

MBarriers::Signal MBarriers::signal(Machine& machine, std::uintptr_t address, Site site) {
  const Barrier& b = use(machine, address, "completion", site);
  const Knowledge& knows = machine.order()->of(machine.thread());
  const bool fenced = b.fenced.agent >= 0 && knows.seen.reached(b.fenced);
  if (!fenced && !knows.fenced.reached(b.made))
    machine.stop(fmt::format("completes bytes on {}, which {} initialised at {}: no fence_mbarrier_init or "
                             "fence_proxy_async between them",
                             in_words(machine, *barriers_.find(address)), machine.thread_in_words(b.made.agent),
                             Machine::in_words(b.made_at)),
                 &site);
  return {address, b.phase, {b.agent, b.phase + 1}};
}

void MBarriers::complete_bytes(Machine& machine, const Signal& signal, int bytes, int thread, Site site) {
  Entry& entry = *barriers_.find(signal.address);
  Barrier& b = entry.second;
  if (!b.live || b.phase != signal.phase || b.bytes - bytes < -kMostBytes)
    machine.stop_at(thread,
                    fmt::format("completes {} bytes of phase {} on {}", bytes, signal.phase - b.first_phase,
                                b.live ? in_words(machine, entry) : "an mbarrier that has been invalidated"),
                    &site);
  b.bytes -= bytes;
  tsan::release(&b);
  complete_if_due(machine, entry, thread, site);
}

void MBarriers::complete_if_due(Machine& machine, Entry& entry, int thread, const Site& site) {
  Barrier& b = entry.second;
  if (b.pending != 0) return;
  if (b.bytes < 0)
    machine.stop_at(
        thread,
        fmt::format("{} bytes more than expected have been completed at {}", -b.bytes, in_words(machine, entry)),
        &site);
  if (b.bytes != 0) return;
  for (const Waiter& w : b.waiters)
    if (w.phase != b.phase)
      machine.stop_at(
          thread,
          fmt::format("completes phase {} of {} while {} may still wait for phase {}, which has the parity of "
                      "the next",
                      b.phase - b.first_phase, in_words(machine, entry), machine.thread_in_words(w.thread),
                      w.phase - b.first_phase),
          &site);
  unanswered_ = 0;
  ++b.phase;
  b.pending = b.expected;
  b.completed.join(b.published);
  b.completed_abroad.join(b.published_abroad);
  b.completed.reach({b.agent, b.phase});
  for (const Waiter& w : b.waiters) machine.wake(w.thread);
}

std::string MBarriers::overlapping(const Machine& machine, std::uintptr_t address, std::size_t bytes) const {
  for (auto at = barriers_.lower_bound(address - kBytes + 1); at != barriers_.end() && at->first < address + bytes;
       ++at)
    if (at->second.live) return in_words(machine, *at);
  return {};
}

std::string MBarriers::damaged(const Machine& machine, std::uintptr_t address, std::size_t bytes) const {
  for (auto at = barriers_.lower_bound(address); at != barriers_.end() && at->first < address + bytes; ++at)
    if (at->second.live && !intact(*at)) return in_words(machine, *at);
  return {};
}

}  // namespace flashfit::emu
