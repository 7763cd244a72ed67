// What the running thread does to memory, checked against its bounds and
// against what others did before.
#include <fmt/format.h>

#include <cstring>

#include "proof/emu/engines.hpp"
#include "proof/emu/machine.hpp"
#include "proof/emu/thread_sanitizer.hpp"

namespace flashfit::emu {
namespace {

constexpr const char* kCopies = "cp_async_16";

}  // namespace

void Machine::copy(std::uintptr_t s_to, std::uintptr_t g_from, std::size_t bytes, std::size_t read, Site site) {
  ++stats_.copies;
  check_shared(s_to, bytes, site);
  if (read != 0) {
    check_global(g_from, read, bytes, Access::kRead, site);
    global_access(g_from, read, GlobalAccess::kRead, kCopies, site);
  }
  access(s_to, bytes, Access::kWrite, kCopies, site);
  const auto offset = static_cast<std::int32_t>(s_to - reinterpret_cast<std::uintptr_t>(shared()));
  banks_.add_lane(now_.warp, now_.lane + spoken_lane_,
                  {kCopies, site, static_cast<int>(bytes), &Stats::copy_bank_conflicts}, offset);
  copies_[static_cast<std::size_t>(speaker())].issue(
      {reinterpret_cast<std::byte*>(s_to), reinterpret_cast<const std::byte*>(g_from), bytes, read, site});
}

void Machine::commit_copies() { copies_[static_cast<std::size_t>(speaker())].commit(); }

void Machine::wait_copies(int pending) {
  CopyQueue& queue = copies_[static_cast<std::size_t>(speaker())];
  queue.wait(static_cast<std::size_t>(pending), [this](const Copy& copy) {
    const auto to = reinterpret_cast<std::uintptr_t>(copy.destination);
    tsan::write(to, copy.bytes, copy.site);
    // An arrival announces its copies as accesses of an agent of their own, not of the thread that waits here.
    if (order_ != nullptr && !copy.announced) watched_access(to, copy.bytes, Access::kWrite, kCopies, copy.site);
    copy.land();
  });
  if (queue.agent < 0) return;
  const tsan::Unseen unseen;
  order_->learn_unfenced(thread(), {queue.agent, queue.arrivals_landed()});
}

void Machine::arrive_with_copies(std::uintptr_t barrier, bool counted, const char* what, Site site) {
  const tsan::Unseen unseen;
  watch();
  engines().mbarriers.expect_copies(*this, barrier, counted, what, site);
  CopyQueue& queue = copies_[static_cast<std::size_t>(speaker())];
  if (queue.agent < 0) queue.agent = order_->new_agent();
  const CopyQueue::Arrival arrival = queue.arrive();
  const Moment done{queue.agent, arrival.number};
  queue.announce([&](const Copy& copy) {
    record(reinterpret_cast<std::uintptr_t>(copy.destination), copy.bytes, Access::kWrite,
           record_of(kCopies, copy.site, done, Proxy::kGeneric));
    const auto from = reinterpret_cast<std::uintptr_t>(copy.source);
    if (copy.read != 0 && watches_global(from))
      record_global({from, copy.read}, GlobalAccess::kRead,
                    {cluster_, thread(), done, Proxy::kGeneric, {kCopies, copy.site}});
  });
  transfers_.issue({what, speaker(), site, [this, barrier, arrival, done, site, thread = speaker()] {
                      copies_[static_cast<std::size_t>(thread)].land_until(arrival.copies, [](const Copy& copy) {
                        tsan::write(reinterpret_cast<std::uintptr_t>(copy.destination), copy.bytes, copy.site);
                        copy.land();
                      });
                      engines().mbarriers.arrive_for_copies(*this, barrier, done, thread, site);
                      return true;
                    }});
}

void Machine::count(std::uint64_t Stats::* counter, std::uint64_t times) { stats_.*counter += times; }

void Machine::access(std::uintptr_t address, std::size_t bytes, Access access, const char* what, Site site) {
  (access == Access::kRead ? stats_.shared_bytes_read : stats_.shared_bytes_written) += bytes;
  if (tsan::on()) {
    (access == Access::kRead ? tsan::read : tsan::write)(address, bytes, site);
    stop_at_race();
  }
  if (order_ != nullptr)
    watched_access(address, bytes, access, what, site);
  else
    missed_ = true;
}

void Machine::own_access(std::uintptr_t address, std::size_t bytes, Access kind, const char* what, Site site) {
  check_shared(address, bytes, site);
  access(address, bytes, kind, what, site);
  const auto offset = static_cast<std::int32_t>(address - reinterpret_cast<std::uintptr_t>(shared()));
  banks_.add_lane(now_.warp, now_.lane, {what, site, static_cast<int>(bytes), &Stats::access_bank_conflicts}, offset);
  if (kind != Access::kRead) return;
  check_written(address, bytes, what, site);
  ask(address, what, site);
}

void Machine::check_written(std::uintptr_t address, std::size_t bytes, const char* what, Site site) {
  constexpr std::uint32_t kUnwritten = 0x0001'0001u * SharedMemory::kPoison;
  std::uint32_t word = 0;
  for (std::size_t b = 0; b + sizeof word <= bytes; b += sizeof word) {
    std::memcpy(&word, reinterpret_cast<const std::byte*>(address) + b, sizeof word);
    if (word == kUnwritten) stop_at_poison(what, reinterpret_cast<const std::byte*>(address) - shared(), bytes, site);
  }
}

void Machine::read_rows(std::span<const std::uintptr_t> rows, const char* what, Site site) {
  for (const std::uintptr_t row : rows) check_shared(row, 16, site);
  if (order_ == nullptr || tsan::on()) {
    for (const std::uintptr_t row : rows) access(row, 16, Access::kRead, what, site);
    return;
  }
  stats_.shared_bytes_read += 16 * rows.size();
  const AccessRecord by = record_of(what, site, order_->now(thread()), Proxy::kGeneric);
  for (const std::uintptr_t row : rows) record(row, 16, Access::kRead, by);
}

void Machine::count_bank_conflicts(const char* what, std::span<const std::int32_t> offsets, int bytes,
                                   std::uint64_t Stats::* counter) {
  stats_.*counter += static_cast<std::uint64_t>(banks_.add(what, collective_site(), offsets, bytes));
}

void Machine::stop_at_poison(const char* what, std::ptrdiff_t offset, std::size_t bytes, Site site) {
  const std::byte* const at = shared() + offset;
  for (std::size_t t = 0; t < copies_.size(); ++t)
    if (const Copy* const copy = copies_[t].covering(at, bytes))
      stop(fmt::format("{} reads bytes {}-{} of shared memory, which {}'s copy of {} has yet to fill", what, offset,
                       offset + static_cast<std::ptrdiff_t>(bytes) - 1, thread_in_words(static_cast<int>(t)),
                       in_words(copy->site)),
           &site);
  stop(fmt::format("{} reads bytes {}-{} of shared memory, some of which nothing has written", what, offset,
                   offset + static_cast<std::ptrdiff_t>(bytes) - 1),
       &site);
}

void Machine::stop_at_race() {
  const std::optional<tsan::Race> race = tsan::take();
  if (!race) return;
  const std::uintptr_t at = race->later.address - reinterpret_cast<std::uintptr_t>(shared());
  const bool is_shared = at < blocks_[block_].shared.size();
  // Anything else is the fibres' own: their stacks, which the machine writes.
  if (!is_shared && !memory_.allows(race->later.address, 1, Access::kRead)) return;
  const tsan::Access &now = race->later, &before = race->earlier;
  const int fibre = before.fibre - launch_.first_race_of(grid_);
  stop(fmt::format(
      "race: {} {} {} bytes at {}, which {} {} at {}: no synchronisation between them", now.place,
      now.write ? "writes" : "reads", now.bytes,
      is_shared ? fmt::format("byte {} of shared memory", at) : memory_.describe(race->later.address),
      fibre < 0 || fibre >= static_cast<int>(waits_.size()) ? "the host or another grid" : thread_in_words(fibre),
      before.write ? "wrote" : "read", before.place));
}

void Machine::check_tensor(std::uintptr_t address, std::size_t bytes, std::size_t alignment, Access access, Site site) {
  const char* verb = access == Access::kRead ? "reads" : "writes";
  if (!memory_.allows(address, bytes, access))
    stop(fmt::format("{} {} bytes at {}", verb, bytes, memory_.describe(address)), &site);
  if (launch_.begins_early() && order_ != nullptr && known_to_have_ended() == 0)
    stop(fmt::format("{} {} bytes at {} before a grid_dependency_wait: kernels that were queued before may still run",
                     verb, bytes, memory_.describe(address)),
         &site);
  if ((address & (alignment - 1)) != 0)
    stop(
        fmt::format("{} {} bytes at {}, which is not aligned to {}", verb, bytes, memory_.describe(address), alignment),
        &site);
  (access == Access::kRead ? stats_.global_bytes_read : stats_.global_bytes_written) += bytes;
}

void Machine::check_global(std::uintptr_t address, std::size_t bytes, std::size_t alignment, Access access, Site site) {
  check_tensor(address, bytes, alignment, access, site);
  if (tsan::on()) {
    (access == Access::kRead ? tsan::read : tsan::write)(address, bytes, site);
    stop_at_race();
  }
}

bool Machine::in_params_or_global(std::uintptr_t address, std::size_t bytes) const {
  const std::uintptr_t at = address - reinterpret_cast<std::uintptr_t>(program_.params);
  return (at < program_.params_bytes && program_.params_bytes - at >= bytes) ||
         memory_.allows(address, bytes, Access::kRead);
}

std::uintptr_t Machine::in_block(std::uintptr_t address, int block, const char* what, Site site) {
  if (block < 0 || block >= program_.cluster)
    stop(fmt::format("{} in block {} of a cluster of {}", what, block, program_.cluster), &site);
  if (block == static_cast<int>(block_)) return address;
  const Block& other = blocks_[static_cast<std::size_t>(block)];
  bool started = order_ == nullptr;
  for (int t = block * program_.threads; t < (block + 1) * program_.threads && !started; ++t)
    started = order_->of(thread()).seen.at(t) != 0;
  if (!started)
    stop(fmt::format("{} in block {} of the cluster, which may not have started: no synchronisation with it", what,
                     block),
         &site);
  if (other.live == 0) stop(fmt::format("{} in block {} of the cluster, which has ended", what, block), &site);
  return address - reinterpret_cast<std::uintptr_t>(shared()) + reinterpret_cast<std::uintptr_t>(other.shared.data());
}

void Machine::use_abroad(std::uintptr_t address, const char* what, Site site) {
  for (Block& block : blocks_)
    if (block.shared.holds(address, 1))
      block.uses[thread()] = record_of(what, site, order_->now(thread()), Proxy::kGeneric);
}

std::string Machine::shared_in_words(std::uintptr_t address) const {
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    if (blocks_[b].shared.holds(address, 1))
      return fmt::format("byte {} of shared memory{}",
                         address - reinterpret_cast<std::uintptr_t>(blocks_[b].shared.data()),
                         blocks_.size() > 1 ? fmt::format(" of block {}", b) : "");
  return "an address outside shared memory";
}

void Machine::check_shared(std::uintptr_t address, std::size_t bytes, std::size_t alignment, Site site) {
  const SharedMemory& memory = blocks_[block_].shared;
  const auto at = static_cast<std::ptrdiff_t>(address - reinterpret_cast<std::uintptr_t>(memory.data()));
  if (!memory.holds(address, bytes))
    stop(fmt::format("touches {} bytes at byte {} of a shared memory of {}", bytes, at, memory.size()), &site);
  if ((address & (alignment - 1)) != 0)
    stop(fmt::format("touches {} bytes at byte {} of shared memory, which is "
                     "not aligned to {}",
                     bytes, at, alignment),
         &site);
}

}  // namespace flashfit::emu
