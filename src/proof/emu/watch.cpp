// Accesses to shared memory, of threads and engines, held against those that came before.
#include <fmt/format.h>

#include "proof/emu/engines.hpp"
#include "proof/emu/machine.hpp"

namespace flashfit::emu {

constexpr std::uint32_t kThreads = Machine::kMaxThreads * Machine::kMaxCluster;
static_assert(kThreads <= Accesses::kMostThreads);
// Threads, their copies that arrive and their bulk copies (two agents), warpgroups, and an mbarrier in each 8 bytes of
// every block.
static_assert(4 * kThreads + kThreads / 128 + Machine::kMaxCluster * 227 * 1024 / 8 <= Accesses::kMostAgents);

void Machine::watch() {
  watching_ = true;
  if (order_ != nullptr) return;
  order_ = std::make_unique<Order>(program_.threads * program_.cluster, cluster_);
  if (const std::uint32_t known = launch_.known_at_begin(grid_))
    for (int t = 0; t < program_.threads * program_.cluster; ++t) order_->learn_all_before(t, known);
  for (Block& block : blocks_)
    if (block.accesses == nullptr) block.accesses = std::make_unique<Accesses>(block.shared.size());
}

AccessRecord Machine::record_of(const char* what, const Site& site, Moment done, Proxy proxy) {
  const std::uint32_t instruction = instructions_.number_of(what, site);
  if (instruction >= Accesses::kMostInstructions)
    stop(fmt::format("accesses shared memory at more than {} lines", Accesses::kMostInstructions), &site);
  return {done, instruction, speaker(), proxy};
}

void Machine::watched_access(std::uintptr_t address, std::size_t bytes, Access access, const char* what, Site site) {
  record(address, bytes, access, record_of(what, site, order_->now(thread()), Proxy::kGeneric));
}

void Machine::engine_access(std::uintptr_t address, std::size_t bytes, Access access, const char* what, Moment done,
                            Site site) {
  record(address, bytes, access, record_of(what, site, done, Proxy::kAsync));
}

void Machine::record(std::uintptr_t address, std::size_t bytes, Access access, const AccessRecord& by) {
  for (Block& block : blocks_)
    if (block.shared.holds(address, bytes)) record(block, address, bytes, access, by);
}

inline void Machine::record(Block& block, std::uintptr_t address, std::size_t bytes, Access access,
                            const AccessRecord& by) {
  const tsan::Unseen unseen;
  const std::size_t offset = address - reinterpret_cast<std::uintptr_t>(block.shared.data());
  if (engines_ != nullptr)
    if (const std::string barrier = engines_->mbarriers.overlapping(*this, address, bytes); !barrier.empty()) {
      const Instructions::Instruction& instruction = instructions_[by.instruction];
      stop(fmt::format("{} {} bytes {}-{} of shared memory, where {} lives", instruction.what,
                       access == Access::kRead ? "reads" : "writes", offset, offset + bytes - 1, barrier),
           &instruction.site);
    }
  if (by.proxy == Proxy::kAsync || &block != &blocks_[static_cast<std::size_t>(block_of(by.thread))])
    block.uses[by.done.agent] = by;
  const Knowledge& knows = order_->of(thread());
  const auto conflict = access == Access::kRead ? block.accesses->read(offset, bytes, by, knows)
                                                : block.accesses->write(offset, bytes, by, knows);
  if (conflict && !(conflict->unwritten && missed_)) stop_at_conflict(*conflict, offset, bytes, access, by);
}

void Machine::stop_at_conflict(const Accesses::Conflict& conflict, std::size_t offset, std::size_t bytes, Access access,
                               const AccessRecord& by) {
  const Instructions::Instruction &now = instructions_[by.instruction],
                                  &before = instructions_[conflict.earlier.instruction];
  if (conflict.unwritten)
    stop(fmt::format("{} reads bytes {}-{} of shared memory, some of which nothing has written through the contract",
                     now.what, offset, offset + bytes - 1),
         &now.site);
  const AccessRecord& earlier = conflict.earlier;
  const char* const missing = conflict.fence ? "no fence.proxy.async between them"
                              : earlier.proxy == Proxy::kAsync && earlier.thread == by.thread
                                  ? "it was not waited for"
                                  : "no synchronisation between them";
  stop(fmt::format("{} {} bytes {}-{} of shared memory, which {} of {} at {} {}: {}", now.what,
                   access == Access::kRead ? "reads" : "writes", offset, offset + bytes - 1, before.what,
                   thread_in_words(earlier.thread), in_words(before.site), conflict.was_write ? "wrote" : "read",
                   missing),
       &now.site);
}

}  // namespace flashfit::emu
