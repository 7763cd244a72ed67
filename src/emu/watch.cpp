// Accesses to shared memory, of threads and engines, held against those that came before.
#include <fmt/format.h>

#include "emu/engines.hpp"
#include "emu/machine.hpp"

namespace flashfit::emu {

void Machine::watch() {
  watching_ = true;
  if (order_ != nullptr) return;
  order_ = std::make_unique<Order>(program_.threads * program_.cluster);
  previous_grid_ = order_->new_agent();
  for (Block& block : blocks_) block.accesses = std::make_unique<Accesses>(block.shared.size());
}

void Machine::watched_access(std::uintptr_t address, std::size_t bytes, Access access, const char* what, Site site) {
  record(address, bytes, access, {order_->now(thread()), site, what, thread(), Proxy::kGeneric});
}

void Machine::engine_access(std::uintptr_t address, std::size_t bytes, Access access, const char* what, Moment done,
                            Site site) {
  record(address, bytes, access, {done, site, what, thread(), Proxy::kAsync});
}

void Machine::record(std::uintptr_t address, std::size_t bytes, Access access, const AccessRecord& by) {
  for (Block& block : blocks_) {
    if (!block.shared.holds(address, bytes)) continue;
    const std::size_t offset = address - reinterpret_cast<std::uintptr_t>(block.shared.data());
    if (engines_ != nullptr)
      if (const std::string barrier = engines_->mbarriers.overlapping(*this, address, bytes); !barrier.empty())
        stop(fmt::format("{} {} bytes {}-{} of shared memory, where {} lives", by.what,
                         access == Access::kRead ? "reads" : "writes", offset, offset + bytes - 1, barrier),
             &by.site);
    if (by.proxy == Proxy::kAsync || &block != &blocks_[static_cast<std::size_t>(block_of(by.thread))])
      block.uses[by.done.agent] = by;
    const Knowledge& knows = order_->of(by.thread);
    const auto conflict = access == Access::kRead ? block.accesses->read(offset, bytes, by, knows)
                                                  : block.accesses->write(offset, bytes, by, knows);
    if (!conflict) return;
    if (conflict->unwritten) {
      if (missed_) return;
      stop(fmt::format("{} reads bytes {}-{} of shared memory, some of which nothing has written through the contract",
                       by.what, offset, offset + bytes - 1),
           &by.site);
    }
    const AccessRecord& earlier = conflict->earlier;
    const char* const missing = conflict->fence ? "no fence.proxy.async between them"
                                : earlier.proxy == Proxy::kAsync && earlier.thread == by.thread
                                    ? "it was not waited for"
                                    : "no synchronisation between them";
    stop(fmt::format("{} {} bytes {}-{} of shared memory, which {} of {} at {} {}: {}", by.what,
                     access == Access::kRead ? "reads" : "writes", offset, offset + bytes - 1, earlier.what,
                     thread_in_words(earlier.thread), in_words(earlier.site), conflict->was_write ? "wrote" : "read",
                     missing),
         &by.site);
  }
}

}  // namespace flashfit::emu
