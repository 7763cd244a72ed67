#include "proof/emu/bulk_copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "proof/emu/engines.hpp"
#include "proof/emu/machine.hpp"
#include "proof/emu/thread_sanitizer.hpp"

namespace flashfit::emu {
namespace {

constexpr std::size_t kUnit = 16;

void check_unit(Machine& machine, const char* what, std::size_t bytes, Site site) {
  if (bytes == 0 || bytes % kUnit != 0)
    machine.stop(fmt::format("{} of {} bytes, which is no multiple of {}", what, bytes, kUnit), &site);
}

}  // namespace

void BulkCopies::load(Machine& machine, const BulkLoad& load, Site site) {
  const tsan::Unseen unseen;
  machine.watch();
  machine.count(&Stats::bulk_copies);
  check_unit(machine, load.what, load.bytes, site);
  machine.check_shared(load.to, load.bytes, kUnit, site);
  const std::uint32_t own = 1u << machine.block_in_cluster(), blocks = load.blocks == 0 ? own : load.blocks;
  for (int b = 0; b < 32; ++b) {
    if ((blocks >> b & 1) == 0) continue;
    const std::uintptr_t to = machine.in_block(load.to, b, load.what, site);
    const MBarriers::Signal signal =
        machine.engines().mbarriers.signal(machine, machine.in_block(load.barrier, b, load.what, site), site);
    machine.engine_access(to, load.bytes, Access::kWrite, load.what, signal.done, site);
    if (load.shared_from != 0)
      machine.engine_access(load.shared_from, load.bytes, Access::kRead, load.what, signal.done, site);
    for (const Memory::Range& range : load.from)
      machine.engine_global_access(range, GlobalAccess::kRead, load.what, signal.done, site);
    SharedMemory::poison(reinterpret_cast<std::byte*>(to), load.bytes);
    machine.transfers().issue({load.what, machine.thread(), site,
                               [&machine, to, signal, site, bytes = static_cast<int>(load.bytes), fill = load.fill,
                                thread = machine.thread()] {
                                 fill(reinterpret_cast<std::byte*>(to));
                                 machine.engines().mbarriers.complete_bytes(machine, signal, bytes, thread, site);
                                 return true;
                               }});
  }
}

void BulkCopies::send(Machine& machine, std::uintptr_t to, std::uintptr_t from, std::size_t bytes,
                      std::uintptr_t barrier, int block, Site site) {
  constexpr const char* kName = "copy_bulk_to_block";
  machine.watch();
  machine.check_shared(from, bytes, kUnit, site);
  machine.check_shared(to, bytes, kUnit, site);
  machine.in_block(to, block, kName, site);
  load(machine,
       {kName,
        to,
        bytes,
        barrier,
        1u << block,
        [from, bytes](std::byte* at) { std::memcpy(at, reinterpret_cast<const void*>(from), bytes); },
        {},
        from},
       site);
}

BulkCopies::Queue& BulkCopies::queue_of(Machine& machine) {
  machine.watch();
  Queue& queue = queues_[machine.speaker()];
  if (queue.agent < 0) {
    queue.agent = machine.order()->new_agent();
    queue.writer = machine.order()->new_agent();
  }
  return queue;
}

void BulkCopies::store(Machine& machine, const BulkStore& store, Site site) {
  const tsan::Unseen unseen;
  Queue& queue = queue_of(machine);
  machine.count(&Stats::bulk_copies);
  check_unit(machine, store.what, store.bytes, site);
  machine.check_shared(store.from, store.bytes, kUnit, site);
  machine.engine_access(store.from, store.bytes, Access::kRead, store.what, {queue.agent, queue.committed + 1}, site);
  for (const Memory::Range& range : store.to)
    machine.engine_global_access(range, store.kind, store.what, {queue.writer, queue.committed + 1}, site);
  const auto progress = std::make_shared<Progress>();
  queue.open.push_back(progress);
  const auto image = std::make_shared<std::vector<std::byte>>();
  machine.transfers().issue(
      {store.what, machine.thread(), site, [&machine, &queue, progress, image, store, thread = machine.thread()] {
         if (!progress->read) {
           const auto* const from = reinterpret_cast<const std::byte*>(store.from);
           image->assign(from, from + store.bytes);
           progress->read = true;
         } else {
           store.write(image->data());
           progress->written = true;
         }
         tsan::release(&queue);
         if (queue.waiting) machine.wake(thread);
         return progress->written;
       }});
}

void BulkCopies::commit(Machine& machine) {
  const tsan::Unseen unseen;
  Queue& queue = queue_of(machine);
  ++queue.committed;
  queue.groups.push_back(std::move(queue.open));
  queue.open.clear();
}

void BulkCopies::wait(Machine& machine, int pending, bool read, Site site) {
  const tsan::Unseen unseen;
  Queue& queue = queue_of(machine);
  const auto young = static_cast<std::size_t>(pending);
  const std::size_t wanted = queue.groups.size() - std::min(queue.groups.size(), young);
  const auto done = [&] {
    return std::all_of(
        queue.groups.begin(), queue.groups.begin() + static_cast<std::ptrdiff_t>(wanted), [read](const Group& group) {
          return std::all_of(group.begin(), group.end(), [read](const auto& p) { return read ? p->read : p->written; });
        });
  };
  queue.waiting = true;
  while (!done()) machine.suspend({[](const void*) -> std::string { return "bulk_wait"; }, &queue, site});
  queue.waiting = false;
  tsan::acquire(&queue);
  if (queue.committed > static_cast<std::uint32_t>(pending)) {
    const std::uint32_t group = queue.committed - static_cast<std::uint32_t>(pending);
    machine.order()->learn(machine.thread(), {queue.agent, group});
    if (!read) machine.order()->learn(machine.thread(), {queue.writer, group});
  }
  if (!read) queue.groups.erase(queue.groups.begin(), queue.groups.begin() + static_cast<std::ptrdiff_t>(wanted));
}

}  // namespace flashfit::emu
