#include "emu/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "emu/engines.hpp"
#include "emu/fibres.hpp"
#include "emu/races.hpp"

namespace flashfit::emu {

thread_local constinit Machine* Machine::running = nullptr;

Machine::Machine(const Program& program, const Memory& memory, const Options& options)
    : program_(program),
      memory_(memory),
      options_(options),
      block_warps_(program.threads / kLanes),
      scheduler_(options.schedule, options.seed),
      transfers_(options.schedule, options.seed),
      fibres_(std::make_unique<Fibres>(program.threads * program.cluster)),
      warps_(static_cast<std::size_t>(block_warps_ * program.cluster)),
      ready_(warps_.size()),
      waits_(warps_.size() * kLanes),
      copies_(waits_.size()),
      banks_(static_cast<int>(warps_.size())) {
  blocks_.reserve(static_cast<std::size_t>(program.cluster));
  for (int b = 0; b < program.cluster; ++b) blocks_.emplace_back(program.shared_bytes, options.shared_limit);
}

Machine::~Machine() = default;

std::string Machine::run_cluster(Index3 grid, Index3 first, std::uint32_t number) {
  grid_ = grid;
  Machine* const outer = std::exchange(running, this);
  // By number, so that a run is the same whichever host thread does it.
  scheduler_ = Scheduler(options_.schedule, options_.seed + number * 0x632be5abu);
  transfers_ = Transfers(options_.schedule, options_.seed + number * 0x632be5abu);
  std::fill(warps_.begin(), warps_.end(), Warp{});
  std::fill(ready_.begin(), ready_.end(), ~std::uint32_t{0});
  for (CopyQueue& copies : copies_) copies.clear();
  order_.reset();
  engines_.reset();
  missed_ = false;
  elected_ = options_.schedule == Schedule::kReversed ? kLanes - 1
             : options_.schedule == Schedule::kRandom ? scheduler_.any(kLanes)
                                                      : 0;
  for (int b = 0; b < program_.cluster; ++b) start_block(b, {first.x + b, first.y, first.z});
  if (watching_ || program_.cluster > 1 || options_.overlaps != nullptr) watch();
  live_ = program_.threads * program_.cluster;
  fibres_->prepare(
      live_,
      [](void* machine, int) {
        Machine& self = *static_cast<Machine*>(machine);
        self.program_.run(self.program_.params);
        return self.thread_ended();
      },
      this);
  place(scheduler_.first(ready_));
  fibres_->switch_to(thread());
  fibres_->clear();
  running = outer;
  return std::exchange(finding_, {});
}

void Machine::start_block(int number, Index3 index) {
  Block& block = blocks_[static_cast<std::size_t>(number)];
  ++stats_.blocks;
  block.index = index;
  block.live = program_.threads;
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
  if (races::on()) stop_at_race();
  const ThreadIndex next = next_thread();
  if (next.warp < 0) stop("deadlock: " + waits());
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
    if (order_ != nullptr) order_->learn(thread, known);
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
  if (next.warp < 0) stop("deadlock after this thread left: " + waits());
  place(next);
  return thread();
}

void Machine::end_block(Block& block) {
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
