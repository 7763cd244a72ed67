// What the running thread does to memory, checked against its bounds and
// against what others did before.
#include <fmt/format.h>

#include "emu/machine.hpp"

namespace flashfit::emu {

void Machine::copy(std::uintptr_t s_to, std::uintptr_t g_from, bool inside,
                   Site site) {
  ++stats_.copies;
  check_shared(s_to, CopyQueue::kBytes, site);
  if (inside)
    check_global(g_from, CopyQueue::kBytes, CopyQueue::kBytes, Access::kRead,
                 site);
  copies_[static_cast<std::size_t>(thread())].issue(
      reinterpret_cast<std::byte *>(s_to),
      inside ? reinterpret_cast<const std::byte *>(g_from) : nullptr);
}

void Machine::check_global(std::uintptr_t address, std::size_t bytes,
                           std::size_t alignment, Access access, Site site) {
  const char *verb = access == Access::kRead ? "reads" : "writes";
  if (!memory_.allows(address, bytes, access))
    stop(fmt::format("{} {} bytes at {}", verb, bytes,
                     memory_.describe(address)),
         &site);
  if (address % alignment != 0)
    stop(fmt::format("{} {} bytes at {}, which is not aligned to {}", verb,
                     bytes, memory_.describe(address), alignment),
         &site);
}

void Machine::check_shared(std::uintptr_t address, std::size_t bytes,
                           std::size_t alignment, Site site) {
  const SharedMemory &memory = blocks_[block_].shared;
  const auto at = static_cast<std::ptrdiff_t>(
      address - reinterpret_cast<std::uintptr_t>(memory.data()));
  if (!memory.holds(address, bytes))
    stop(fmt::format("touches {} bytes at byte {} of a shared memory of {}",
                     bytes, at, memory.size()),
         &site);
  if (address % alignment != 0)
    stop(fmt::format("touches {} bytes at byte {} of shared memory, which is "
                     "not aligned to {}",
                     bytes, at, alignment),
         &site);
}

void Machine::watch() {
  watching_ = true;
  if (order_ != nullptr)
    return;
  order_ = std::make_unique<Order>(program_.threads * program_.cluster);
  for (Block &block : blocks_)
    block.accesses = std::make_unique<Accesses>(block.shared.size());
}

void Machine::watched_access(std::uintptr_t address, std::size_t bytes,
                             Access access, const char *what, Site site) {
  record(address, bytes, access,
         {order_->now(thread()), site, what, thread(), Proxy::kGeneric});
}

void Machine::engine_access(std::uintptr_t address, std::size_t bytes,
                            Access access, const char *what, Moment done,
                            Site site) {
  record(address, bytes, access, {done, site, what, thread(), Proxy::kAsync});
}

void Machine::record(std::uintptr_t address, std::size_t bytes, Access access,
                     const AccessRecord &by) {
  for (Block &block : blocks_) {
    if (!block.shared.holds(address, bytes))
      continue;
    const std::size_t offset =
        address - reinterpret_cast<std::uintptr_t>(block.shared.data());
    const Knowledge &knows = order_->of(by.thread);
    const auto conflict = access == Access::kRead
                              ? block.accesses->read(offset, bytes, by, knows)
                              : block.accesses->write(offset, bytes, by, knows);
    if (!conflict)
      return;
    const AccessRecord &earlier = conflict->earlier;
    const char *const missing =
        conflict->fence ? "no fence.proxy.async between them"
        : earlier.proxy == Proxy::kAsync && earlier.thread == by.thread
            ? "it was not waited for"
            : "no synchronisation between them";
    stop(fmt::format(
             "{} {} bytes {}-{} of shared memory, which {} of {} at {} {}: {}",
             by.what, access == Access::kRead ? "reads" : "writes", offset,
             offset + bytes - 1, earlier.what, thread_in_words(earlier.thread),
             in_words(earlier.site), conflict->was_write ? "wrote" : "read",
             missing),
         &by.site);
  }
}

} // namespace flashfit::emu
