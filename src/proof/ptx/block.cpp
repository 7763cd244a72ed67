#include "proof/ptx/block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "proof/emu/matrix_rows.hpp"

namespace flashfit::ptx {
namespace {

/// Steps of a warp before others run. Random schedules take turns in the middle of things.
constexpr std::uint64_t kTurn = 1 << 20;
constexpr int kRandomTurn = 512;

constexpr std::uint32_t kLanes = Warp::kLanes;

constexpr std::uint64_t kWindow = 0xf000'0000'0000'0000;

}  // namespace

Block::Block(LaunchState& launch, emu::Machine& machine)
    : launch_(launch),
      machine_(machine),
      warp_count_((launch.threads.x * launch.threads.y * launch.threads.z + Warp::kLanes - 1) / Warp::kLanes) {
  for (int w = 0; w < warp_count_; ++w) warps_.emplace_back(launch_.program, *this, w);
  for (std::uint32_t id = 0; id < barriers_.size(); ++id) barriers_[id].id = id;
}

void Block::run_warp(int number) {
  if (live_warps_ == 0) {  // the block's first warp to begin
    live_warps_ = warp_count_;
    steps_ = 0;
    for (Barrier& b : barriers_) b = {.id = b.id};
  }
  Warp& warp = warps_[static_cast<std::size_t>(number)];
  const int threads = launch_.threads.x * launch_.threads.y * launch_.threads.z - number * Warp::kLanes;
  warp.start(threads >= Warp::kLanes ? ~0u : (1u << threads) - 1);
  const bool random = launch_.options.schedule == emu::Schedule::kRandom;
  emu::Xorshift turns(launch_.options.seed + static_cast<std::uint32_t>(machine_.thread()));
  while (true) {
    const std::uint64_t before = warp.steps();
    const std::uint64_t turn = random ? 1 + static_cast<std::uint64_t>(turns.below(kRandomTurn)) : kTurn;
    const Warp::Pause pause = warp.run(std::min(turn, launch_.most_steps - std::min(steps_, launch_.most_steps) + 1));
    steps_ += warp.steps() - before;
    if (pause == Warp::Pause::kLeft) break;
    if (steps_ > launch_.most_steps)
      stop(0, warp.now(), fmt::format("the block has run {} instructions and has not ended", launch_.most_steps));
    // A warp that has run for so long may wait for another, by plain loads that say nothing.
    if (random)
      machine_.yield();
    else
      machine_.yield_to_any();
  }
  warp_left();
}

std::uint64_t Block::special(Special which, int axis, int warp, int lane) const {
  const auto along = [axis](const emu::Index3& i) {
    return static_cast<std::uint64_t>(axis == 0 ? i.x : axis == 1 ? i.y : i.z);
  };
  const int thread = warp * Warp::kLanes + lane, cluster = machine_.cluster_blocks();
  const emu::Index3 &size = launch_.threads, block = machine_.block(), grid = machine_.grid();
  switch (which) {
    case Special::kTid:
      return along({thread % size.x, thread / size.x % size.y, thread / size.x / size.y});
    case Special::kNtid:
      return along(size);
    case Special::kCtaid:
      return along(block);
    case Special::kNctaid:
      return along(grid);
    case Special::kClusterid:
      return along({block.x / cluster, block.y, block.z});
    case Special::kNclusterid:
      return along({grid.x / cluster, grid.y, grid.z});
    case Special::kClusterCtaid:
      return along({block.x % cluster, 0, 0});
    case Special::kClusterNctaid:
      return along({cluster, 1, 1});
    case Special::kClusterCtarank:
      return static_cast<std::uint64_t>(machine_.block_in_cluster());
    case Special::kClusterNctarank:
      return static_cast<std::uint64_t>(cluster);
    case Special::kLane:
      return static_cast<std::uint64_t>(lane);
    case Special::kWarp:
      return static_cast<std::uint64_t>(warp);
    case Special::kWarps:
      return static_cast<std::uint64_t>(warp_count_);
    case Special::kLanesBelow:
      return (1u << lane) - 1;
    case Special::kLanesUpTo:
      return (2u << lane) - 1;
    case Special::kLanesAbove:
      return ~((2u << lane) - 1);
    case Special::kLanesFrom:
      return ~((1u << lane) - 1);
    case Special::kLaneMask:
      return 1u << lane;
    case Special::kZero:
      return 0;
  }
  return 0;
}

int Block::elected(std::uint32_t lanes) const {
  switch (launch_.options.schedule) {
    case emu::Schedule::kRoundRobin:
      break;
    case emu::Schedule::kReversed:
      return 31 - std::countl_zero(lanes);
    case emu::Schedule::kRandom: {  // the same whenever the warp asks
      const int turn = static_cast<int>(launch_.options.seed % kLanes);
      return (turn + std::countr_zero(std::rotr(lanes, turn))) % Warp::kLanes;
    }
  }
  return std::countr_zero(lanes);
}

void Block::stop(int lane, const Instruction& at, const std::string& what) const {
  machine_.speaks_for(lane);
  machine_.stop(what, &place_of(at));
}

// Memory.
Space Block::space_of(Space space, std::uint64_t& address) {
  if (space != Space::kGeneric) return space;
  const std::uint64_t window = address & kWindow;
  space = window == Program::kSharedWindow  ? Space::kShared
          : window == Program::kLocalWindow ? Space::kLocal
          : window == Program::kParamWindow ? Space::kParam
                                            : Space::kGlobal;
  if (space != Space::kGlobal) address -= window;
  return space;
}

std::byte* Block::resolve(Warp& warp, int lane, const Instruction& i, Space space, std::uint64_t address,
                          std::size_t bytes, emu::Access access) {
  space = space_of(space, address);
  machine_.speaks_for(lane);
  if (space == Space::kShared) {
    const std::uintptr_t place = shared_place(lane, i, address, bytes, name_of(i));
    machine_.access(place, bytes, access, name_of(i), place_of(i));
    auto* const at = reinterpret_cast<std::byte*>(place);
    if (access == emu::Access::kRead) machine_.check_written(place, bytes, name_of(i), place_of(i));
    return at;
  }
  if (space == Space::kLocal || space == Space::kParam) {
    const std::size_t size = space == Space::kLocal ? program().local_bytes : program().param_bytes;
    if (address > size || size - address < bytes || address % bytes != 0 ||
        (space == Space::kParam && access == emu::Access::kWrite))
      stop(lane, i,
           fmt::format("{} {} bytes at byte {} of {} bytes of {}", access == emu::Access::kRead ? "reads" : "writes",
                       bytes, static_cast<std::int64_t>(address), size,
                       space == Space::kLocal ? "local memory" : "arguments"));
    return space == Space::kLocal ? warp.local(lane) + address : launch_.arguments.bytes.data() + address;
  }
  machine_.own_global_access(address, bytes, access, name_of(i), place_of(i));
  return reinterpret_cast<std::byte*>(address);
}

void Block::as_one_step(Warp& warp, int lane, const Instruction& i, Space space, std::uint64_t address,
                        std::size_t bytes, emu::GlobalAccess kind, arch::MemoryOrder order,
                        const std::function<emu::Atomics::Did(std::byte*)>& step) {
  space = space_of(space, address);
  machine_.speaks_for(lane);
  if (space == Space::kGlobal) {
    machine_.atomic_step({address, bytes, kind, order, name_of(i), place_of(i)},
                         [&] { return step(reinterpret_cast<std::byte*>(address)); });
  } else if (space == Space::kShared) {
    const std::uintptr_t place = shared_place(lane, i, address, bytes, name_of(i));
    machine_.shared_atomic_step({place, bytes, kind, order, name_of(i), place_of(i)},
                                [&] { return step(reinterpret_cast<std::byte*>(place)); });
  } else {
    step(resolve(warp, lane, i, space, address, bytes, emu::Access::kWrite));
  }
}

std::uintptr_t Block::shared_place(int lane, const Instruction& i, std::uint64_t address, std::size_t bytes,
                                   const char* what) const {
  const std::uint64_t offset = (address & Program::kPlaceMask) - Program::kSharedStart;
  const std::uint64_t block = address / (Program::kPlaceMask + 1);
  const auto own = reinterpret_cast<std::uintptr_t>(machine_.shared()) + offset;
  machine_.speaks_for(lane);
  machine_.check_shared(own, bytes, place_of(i));
  if (block == 0) return own;
  if (block > emu::Machine::kMaxCluster)
    machine_.stop(fmt::format("{} at {:#x}, which is no address of shared memory", what, address), &place_of(i));
  return machine_.in_block(own, static_cast<int>(block) - 1, what, place_of(i));
}

std::uintptr_t Block::global_place(std::uint64_t address) const {
  if ((address & kWindow) != Program::kParamWindow) return address;
  return reinterpret_cast<std::uintptr_t>(launch_.arguments.bytes.data()) + (address - Program::kParamWindow);
}

void Block::matrix_rows(const Instruction& i, const std::uint32_t* addresses, std::uint32_t offset, int count,
                        const std::byte** rows) {
  constexpr std::size_t kRow = 16;
  for (int lane = 0; lane < count; ++lane) {
    const std::uintptr_t row = shared_place(lane, i, addresses[lane] + offset, kRow, name_of(i));
    machine_.access(row, kRow, emu::Access::kRead, name_of(i), place_of(i));
    rows[lane] = reinterpret_cast<const std::byte*>(row);
    if (emu::has_poison(row)) machine_.stop_at_poison(name_of(i), rows[lane] - machine_.shared(), kRow, place_of(i));
  }
}

// Barriers.
int Block::arrive(const Warp& warp, const Instruction& i, std::uint32_t id, std::uint32_t threads, bool waits,
                  int says) {
  const emu::Site& site = place_of(i);
  machine_.speaks_for(0);
  if (id >= barriers_.size())
    machine_.stop(fmt::format("barrier {}: ids are 0 to {}", id, barriers_.size() - 1), &site);
  if (threads % kLanes != 0 || threads > static_cast<std::uint32_t>(warp_count_) * kLanes)
    machine_.stop(fmt::format("barrier {} for {} threads: a block of {} warps takes multiples of {}", id, threads,
                              warp_count_, kLanes),
                  &site);
  Barrier& b = barriers_[id];
  const std::uint32_t bit = 1u << warp.number();
  if (b.arrived == 0) {
    b.threads = threads;
    b.site = site;
  } else if (b.threads != threads) {
    machine_.stop(fmt::format("barrier {} for {} threads, while {} says {}", id, threads,
                              emu::Machine::in_words(b.site), b.threads),
                  &site);
  }
  if ((b.warps & bit) != 0)
    machine_.stop(fmt::format("arrives twice at barrier {}, where {} threads are", id, b.arrived), &site);
  machine_.count(&emu::Stats::barriers);
  b.warps |= bit;
  b.arrived += kLanes;
  b.said += says;
  machine_.publish(b.knowledge);
  if (waits) b.waiting |= bit;
  if (b.arrived == (threads == 0 ? static_cast<std::uint32_t>(live_warps_) * kLanes : threads))
    complete(b);
  else if (waits)
    machine_.suspend({[](const void* on) {
                        const Barrier& at = *static_cast<const Barrier*>(on);
                        return fmt::format("barrier {} ({} of {} threads are there)", at.id, at.arrived,
                                           at.threads == 0 ? "all" : std::to_string(at.threads));
                      },
                      &b, site});
  return answers_[static_cast<std::size_t>(warp.number())];
}

void Block::complete(Barrier& b) {
  for (std::uint32_t left = b.waiting; left != 0; left &= left - 1) {
    const int warp = std::countr_zero(left);
    answers_[static_cast<std::size_t>(warp)] = b.said;
    machine_.wake(thread_of(warp) / Warp::kLanes, 1, b.knowledge);
  }
  b = {.id = b.id};
}

void Block::warp_left() {
  --live_warps_;
  for (Barrier& b : barriers_)
    if (b.arrived != 0 && b.threads == 0 && b.arrived == static_cast<std::uint32_t>(live_warps_) * kLanes) complete(b);
}

}  // namespace flashfit::ptx
