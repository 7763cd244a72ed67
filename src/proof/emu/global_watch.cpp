// Accesses to global memory, of threads and engines, held against those that came before; and threads that load for
// ever what nobody writes.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "proof/emu/machine.hpp"

namespace flashfit::emu {

void Machine::own_global_access(std::uintptr_t address, std::size_t bytes, Access access, const char* what, Site site) {
  check_global(address, bytes, bytes, access, site);
  global_access(address, bytes, access == Access::kRead ? GlobalAccess::kRead : GlobalAccess::kWrite, what, site);
  if (access == Access::kRead) ask(address, what, site);
}

void Machine::read_only_access(std::uintptr_t address, std::size_t bytes, const char* what, Site site) {
  check_global(address, bytes, bytes, Access::kRead, site);
  global_access(address, bytes, GlobalAccess::kReadOnly, what, site);
}

std::uint64_t Machine::atomic(const AtomicOp& op, std::uintptr_t address, const char* what, Site site) {
  using Kind = AtomicOp::Kind;
  using Did = Atomics::Did;
  std::uint64_t before = 0;
  const GlobalAccess kind = op.kind == Kind::kLoad    ? GlobalAccess::kAtomicRead
                            : op.kind == Kind::kStore ? GlobalAccess::kAtomicWrite
                                                      : GlobalAccess::kAtomic;
  atomic_step({address, op.bytes(), kind, op.order, what, site}, [&] {
    before = execute(op, address);
    if (op.kind == Kind::kLoad || (op.kind == Kind::kCompareExchange && before != op.expected)) return Did::kRead;
    return op.kind == Kind::kStore ? Did::kStored : Did::kChanged;
  });
  return before;
}

// Not told to ThreadSanitizer but for its order: it takes what it is told of for plain accesses.
void Machine::atomic_step(const AtomicAccess& a, const std::function<Atomics::Did()>& step) {
  const tsan::Unseen unseen;
  watch();
  check_tensor(a.address, a.bytes, a.bytes, only_reads(a.kind) ? Access::kRead : Access::kWrite, a.site);
  global_access(a.address, a.bytes, a.kind, a.what, a.site);
  run_step(launch_.atomics(), a, step);
}

void Machine::shared_atomic_step(const AtomicAccess& a, const std::function<Atomics::Did()>& step) {
  const tsan::Unseen unseen;
  watch();
  AccessRecord by = record_of(a.what, a.site, order_->now(thread()), Proxy::kGeneric);
  by.atomic = true;
  const bool reads = a.kind != GlobalAccess::kAtomicWrite;
  record(a.address, a.bytes, only_reads(a.kind) ? Access::kRead : Access::kWrite, by);
  if (reads) check_written(a.address, a.bytes, a.what, a.site);
  run_step(shared_atomics_, a, step);
}

void Machine::run_step(Atomics& atomics, const AtomicAccess& a, const std::function<Atomics::Did()>& step) {
  ++stats_.atomics;
  // Who finds again and again what it cannot use may wait for somebody.
  if (atomics.execute(a.address, a.order, *order_, thread(), step) == Atomics::Did::kRead)
    ask(a.address, a.what, a.site);
}

void Machine::global_access(std::uintptr_t address, std::size_t bytes, GlobalAccess kind, const char* what, Site site) {
  if (!watches_global(address)) return;
  record_global({address, bytes}, kind, {cluster_, speaker(), order_->now(thread()), Proxy::kGeneric, {what, site}});
}

void Machine::engine_global_access(const Memory::Range& range, GlobalAccess kind, const char* what, Moment done,
                                   Site site) {
  record_global(range, kind, {cluster_, speaker(), done, Proxy::kAsync, {what, site}});
}

void Machine::record_global(const Memory::Range& range, GlobalAccess kind, const GlobalAccesses::Who& by) {
  const tsan::Unseen unseen;
  if (const auto conflict = global_->access(range.base, range.bytes, kind, by, order_->of(thread())))
    stop_at_global_conflict(*conflict, range, kind, by);
}

void Machine::stop_at_global_conflict(const GlobalAccesses::Conflict& conflict, const Memory::Range& range,
                                      GlobalAccess kind, const GlobalAccesses::Who& by) {
  constexpr const char* kDoes[] = {"reads", "reads", "writes", "adds to", "reads", "writes", "changes"};
  constexpr const char* kDid[] = {"read", "read", "wrote", "added to", "read", "wrote", "changed"};
  const GlobalAccesses::Who& earlier = conflict.earlier;
  const bool same_cluster = earlier.cluster == by.cluster;
  const auto missing = [&]() -> const char* {
    switch (conflict.lacks) {
      case GlobalAccesses::Lacks::kConstancy:
        return "what load_read_only reads may not be written while the grid runs";
      case GlobalAccesses::Lacks::kFence:
        return "no fence.proxy.async of global memory between them";
      case GlobalAccesses::Lacks::kOrder:
        break;
    }
    if (!same_cluster && launch_.grid_of(earlier.cluster) != grid_) return "no grid_dependency_wait between them";
    return same_cluster && earlier.proxy == Proxy::kAsync && earlier.thread == by.thread
               ? "it was not waited for"
               : "no synchronisation between them";
  };
  stop(fmt::format("{} {} {} bytes at {}, which {} of {} at {} {}: {}", by.instruction.what,
                   kDoes[static_cast<int>(kind)], range.bytes, memory_.describe(range.base), earlier.instruction.what,
                   same_cluster ? thread_in_words(earlier.thread) : in_words(earlier),
                   in_words(earlier.instruction.site), kDid[static_cast<int>(conflict.kind)], missing()),
       &by.instruction.site);
}

std::string Machine::in_words(const GlobalAccesses::Who& who) const {
  const int number = launch_.grid_of(who.cluster);
  const LaunchedGrid& grid = launch_.grids()[static_cast<std::size_t>(number)];
  Index3 block = grid.first_block_of(who.cluster);
  block.x += who.thread / grid.block_threads;
  const int of_block = who.thread % grid.block_threads;
  return fmt::format("{}block ({},{},{}) warp {} lane {}", number == grid_ ? "" : grid.kernel + "'s ", block.x, block.y,
                     block.z, of_block / kLanes, of_block % kLanes);
}

void Machine::ask(std::uintptr_t address, const char* what, Site site) {
  const std::uint32_t times = patience_.ask(speaker(), address);
  if (times == 0 || times % Patience::kTurn != 0) return;
  // While it asks others run, and engines too, for which another thread may wait that has the answer.
  transfers_.step();
  yield_to_any();
  if (times < Patience::kMost) return;
  // An earlier cluster may be running on another host thread, and answer yet.
  if (launch_.earlier_ended(cluster_))
    stop(fmt::format("{} asks for ever for the same numbers, the last at {}: nobody changes them, and blocks of other "
                     "clusters need not run at the same time",
                     what, in_shared_memory(address) ? shared_in_words(address) : memory_.describe(address)),
         &site);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace flashfit::emu
