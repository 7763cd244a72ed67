// Where the running thread waits for others: barriers of warps, blocks, clusters; registers; the grid before this one.
#include <fmt/format.h>

#include <utility>

#include "proof/emu/engines.hpp"
#include "proof/emu/machine.hpp"

namespace flashfit::emu {
namespace {

void nothing(void* const*) {}
constexpr Collective kElect{"elect_one", nothing, &Stats::votes};
constexpr Collective kSetRegisters{"set_max_registers", nothing, &Stats::register_changes};

}  // namespace

Engines& Machine::engines() {
  if (engines_ == nullptr)
    engines_ = std::make_unique<Engines>(program_.threads * program_.cluster, block_warps_,
                                         RegisterPool::at_launch(program_.threads, program_.min_blocks));
  return *engines_;
}

bool Machine::sync_block(Site site, bool says) {
  ++stats_.barriers;
  Block& block = blocks_[block_];
  return block.barriers->arrive(*this, 0, NamedBarriers::kAll, block.live, true, site, says);
}

void Machine::named_barrier(int id, int threads, bool waits, Site site) {
  ++stats_.barriers;
  if (id < 1 || id >= NamedBarriers::kCount)
    stop(fmt::format("named barrier {}: ids are 1 to {}, 0 is sync_block's", id, NamedBarriers::kCount - 1), &site);
  if (threads < kLanes || threads > program_.threads || threads % kLanes != 0)
    stop(fmt::format("named barrier {} for {} threads: a block of {} takes multiples of {}", id, threads,
                     program_.threads, kLanes),
         &site);
  Block& block = blocks_[block_];
  block.barriers->arrive(*this, id, threads, block.live, waits, site);
}

void Machine::sync_warp(std::uint32_t mask, Site site) {
  engines().warps[static_cast<std::size_t>(now_.warp)].sync(*this, mask, warp_state().left, site);
}

void Machine::cluster_arrive(Site site) { engines().cluster.arrive(*this, live_, site); }
void Machine::cluster_wait(Site site) { engines().cluster.wait(*this, site); }

bool Machine::elect(Site site) {
  meet(kElect, nullptr, site);
  return now_.lane == elected_;
}

void Machine::set_registers(int registers, bool increase, Site site) {
  meet(kSetRegisters, nullptr, site);
  engines().registers[block_].set(*this, registers, increase, site);
}

void Machine::launch_dependents() {
  Block& block = blocks_[block_];
  if (!launch_.has_next(grid_) || std::exchange(block.launched, true)) return;
  if (launch_.block_launched(grid_, known_to_have_ended()) && scheduler_.begins_dependents_early())
    pause(Paused::kLaunches);
}

void Machine::grid_dependency_wait(Site site) {
  if (grid_ > 0) {
    if (!launch_.has_ended(grid_ - 1)) {
      grid_waiters_.push_back(thread());
      suspend({[](const void*) -> std::string { return "grid_dependency_wait"; }, &launch_, site});
    }
    if (!launch_.waited_for_all(grid_ - 1))
      stop(fmt::format("grid_dependency_wait for {}, of which not every block has waited for the grid before it",
                       launch_.grids()[static_cast<std::size_t>(grid_) - 1].kernel),
           &site);
    for (int before = 0; before < grid_; ++before) tsan::acquire(launch_.end_of(before));
  }
  if (order_ != nullptr) order_->learn_all_before(thread(), launched().first_cluster);
}

void Machine::leave(Block& block) {
  if (order_ != nullptr) block.known_at_end.join(order_->of(thread()).seen);
  if (engines_ == nullptr) return;
  if (const std::string lanes = engines_->warps[static_cast<std::size_t>(now_.warp)].waiting_for(now_.lane);
      !lanes.empty())
    stop("left while " + lanes);
  engines_->cluster.complete_if_due(*this, live_);
}

void Machine::end_engines(const Block& block) {
  // Shared memory ends with its block's last thread: all who use it must be known to have done so.
  for (const auto& [agent, use] : block.uses)
    if (!block.known_at_end.reached(use.done))
      stop_at(use.thread,
              fmt::format("{} uses the shared memory of block {} of its cluster, whose threads leave without having "
                          "waited for its end",
                          instructions_[use.instruction].what, block_),
              &instructions_[use.instruction].site);
  if (engines_ == nullptr) return;
  if (const std::string unequal = engines_->registers[block_].unequal(); !unequal.empty()) stop(unequal);
  const auto base = reinterpret_cast<std::uintptr_t>(block.shared.data());
  if (const std::string damaged = engines_->mbarriers.damaged(*this, base, block.shared.size()); !damaged.empty())
    stop("somebody has written over " + damaged);
}

}  // namespace flashfit::emu
