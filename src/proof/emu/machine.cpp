#include "proof/emu/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "proof/emu/engines.hpp"
#include "proof/emu/fibres.hpp"
#include "proof/emu/thread_sanitizer.hpp"

namespace flashfit::emu {

thread_local constinit Machine* Machine::running = nullptr;

Machine::Machine(const Program& program, const Memory& memory, const Options& options, LaunchState& launch, int grid)
    : program_(program),
      memory_(memory),
      options_(options),
      launch_(launch),
      global_(launch.global()),
      block_warps_(program.threads / kLanes),
      scheduler_(options.schedule, options.seed),
      transfers_(options.schedule, options.seed),
      fibres_(std::make_unique<Fibres>(program.threads * program.cluster, launch.first_race_of(grid))),
      warps_(static_cast<std::size_t>(block_warps_ * program.cluster)),
      ready_(warps_.size()),
      waits_(warps_.size() * kLanes),
      copies_(waits_.size()),
      banks_(static_cast<int>(warps_.size())),
      patience_(waits_.size()),
      grid_(grid) {
  blocks_.reserve(static_cast<std::size_t>(program.cluster));
  for (int b = 0; b < program.cluster; ++b) blocks_.emplace_back(program.shared_bytes, options.shared_limit);
}

// What a finding in the other grid left paused is unwound while all that it uses is there.
Machine::~Machine() { fibres_->clear(); }

std::string Machine::run_cluster(std::uint32_t number) {
  cluster_ = launched().first_cluster + number;
  patience_.clear();
  grid_waiters_.clear();
  // By number, so that a run is the same whichever host thread does it.
  scheduler_ = Scheduler(options_.schedule, options_.seed + number * 0x632be5abu);
  transfers_ = Transfers(options_.schedule, options_.seed + number * 0x632be5abu);
  std::fill(warps_.begin(), warps_.end(), Warp{});
  std::fill(ready_.begin(), ready_.end(), program_.by_warp ? 1 : ~std::uint32_t{0});
  for (CopyQueue& copies : copies_) copies.clear();
  order_.reset();
  shared_atomics_.clear();
  engines_.reset();
  missed_ = false;
  elected_ = options_.schedule == Schedule::kReversed ? kLanes - 1
             : options_.schedule == Schedule::kRandom ? scheduler_.any(kLanes)
                                                      : 0;
  const Index3 first = launched().first_block_of(cluster_);
  for (int b = 0; b < program_.cluster; ++b) start_block(b, {first.x + b, first.y, first.z});
  // From the first access on: a fence that is missing between it and an engine's must be found. ThreadSanitizer orders
  // what threads do themselves, and would see the clocks' memory.
  if (!tsan::on() || watching_ || program_.cluster > 1 || launch_.grids().size() > 1) watch();
  live_ = fibres_of_block() * program_.cluster;
  fibres_->prepare(
      program_.threads * program_.cluster, program_.by_warp ? kLanes : 1,
      [](void* machine, int) {
        Machine& self = *static_cast<Machine*>(machine);
        self.program_.run(self.program_.params);
        return self.thread_ended();
      },
      this);
  place(scheduler_.first(ready_));
  return run_until_host(thread());
}

std::string Machine::resume() {
  if (grid_ > 0 && launch_.has_ended(grid_ - 1))
    for (const int waiter : std::exchange(grid_waiters_, {})) wake(waiter);
  place(next_thread());
  return run_until_host(thread());
}

std::string Machine::run_until_host(int thread) {
  Machine* const outer = std::exchange(running, this);
  paused_ = Paused::kNo;
  fibres_->switch_to(thread);
  if (paused_ == Paused::kNo) fibres_->clear();
  running = outer;
  return std::exchange(finding_, {});
}

void Machine::pause(Paused why) {
  paused_ = why;
  fibres_->switch_to(Fibres::kHost);
}

void Machine::start_block(int number, Index3 index) {
  Block& block = blocks_[static_cast<std::size_t>(number)];
  ++stats_.blocks;
  block.index = index;
  block.live = fibres_of_block();
  block.launched = false;
  block.shared.poison();
  if (block.accesses != nullptr) block.accesses->clear();
  block.uses.clear();
  block.known_at_end.clear();
  block.barriers.emplace(number * block_warps_, block_warps_);
  block.warpgroups.emplace(SharedWindow{block.shared.data(), block.shared.size()}, block_warps_);
}

void Machine::place(ThreadIndex at) {
  now_ = at;
  if (program_.cluster > 1) block_ = static_cast<std::size_t>(at.warp / block_warps_);
}

ThreadIndex Machine::next_thread() {
  ++stats_.switches;
  if (!transfers_.empty()) transfers_.at_switch();
  ThreadIndex next = scheduler_.next(ready_, now_);
  while (next.warp < 0 && transfers_.step()) next = scheduler_.next(ready_, now_);
  return next;
}

void Machine::yield() {
  if (tsan::on()) stop_at_race();
  run_next(next_thread());
}

void Machine::yield_to_any() {
  if (tsan::on()) stop_at_race();
  ++stats_.switches;
  if (!transfers_.empty()) transfers_.at_switch();
  run_next(scheduler_.any_of(ready_));
}

void Machine::run_next(ThreadIndex next) {
  if (next.warp < 0) {
    if (grid_waiters_.empty()) stop("deadlock: " + waits());
    return pause(Paused::kWaits);
  }
  if (next == now_) return;
  place(next);
  fibres_->switch_to(thread());
}

void Machine::suspend(Wait wait) {
  waits_[static_cast<std::size_t>(thread())] = wait;
  ready() &= ~lane_bit();
  yield();
}

void Machine::wake(int thread) {
  waits_[static_cast<std::size_t>(thread)].describe = nullptr;
  ready_[static_cast<std::size_t>(thread / kLanes)] |= std::uint32_t{1} << thread % kLanes;
}

void Machine::wake(int warp, std::uint32_t lanes, const Knowledge& known) {
  ready_[static_cast<std::size_t>(warp)] |= lanes;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int thread = warp * kLanes + std::countr_zero(lanes);
    waits_[static_cast<std::size_t>(thread)].describe = nullptr;
    if (order_ == nullptr) continue;
    const tsan::Unseen unseen;
    order_->learn(thread, known);
  }
}

int Machine::thread_ended() {
  stop_at_race();
  if (fibres_->overflowed(thread())) stop(fmt::format("used more than {} bytes of stack", StackPool::kStackBytes));
  Warp& w = warp_state();
  if (w.arrived != 0)
    stop(fmt::format("left while {} of its warp wait in {} at {}", lanes_in_words(w.arrived), w.op->name,
                     in_words(w.site)));
  w.left |= lane_bit();
  ready() &= ~lane_bit();
  Block& block = blocks_[block_];
  --live_;
  leave(block);
  if (--block.live == 0)
    end_block(block);
  else
    block.barriers->release_if_complete(*this, block.live);
  if (live_ == 0) {
    while (transfers_.step()) continue;
    return Fibres::kHost;
  }
  const ThreadIndex next = next_thread();
  if (next.warp < 0) {
    if (grid_waiters_.empty()) stop("deadlock after this thread left: " + waits());
    paused_ = Paused::kWaits;
    return Fibres::kHost;
  }
  place(next);
  return thread();
}

void Machine::end_block(Block& block) {
  if (launch_.has_next(grid_)) {
    const std::uint32_t known = block.known_at_end.abroad().all_before();
    if (!block.launched) launch_.block_launched(grid_, known);
    launch_.block_ended(grid_, known);
  }
  if (const std::string left = block.warpgroups->unfinished(); !left.empty()) stop(left);
  end_engines(block);
  if (const auto outside = block.shared.written_outside())
    stop(fmt::format("the block wrote outside its shared memory of {} bytes, at byte {}", block.shared.size(),
                     *outside));
  for (int w = 0; w < block_warps_; ++w) banks_.converge(static_cast<int>(block_) * block_warps_ + w, stats_);
  stats_.worst_bank_conflicts = banks_.worst();
}

void Machine::meet(const Collective& op, void* operands, Site site) {
  Warp& w = warp_state();
  if (w.left != 0) stop(fmt::format("{} without {}, which left the kernel", op.name, lanes_in_words(w.left)), &site);
  if (w.arrived == 0) {
    w.op = &op;
    w.site = site;
  } else if (w.op != &op || !(w.site == site)) {
    stop(fmt::format("{} while {} wait in {} at {}", op.name, lanes_in_words(w.arrived), w.op->name, in_words(w.site)),
         &site);
  }
  w.operands[now_.lane] = operands;
  w.arrived |= lane_bit();
  if (w.arrived == ~std::uint32_t{0}) {
    banks_.converge(now_.warp, stats_);
    op.execute(w.operands);
    ++(stats_.*op.counter);
    w.arrived = 0;
    ready() = ~std::uint32_t{0};
  } else {
    ready() &= ~lane_bit();
    yield();
  }
}

}  // namespace flashfit::emu
