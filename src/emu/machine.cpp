#include "emu/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "emu/fibres.hpp"

namespace flashfit::emu {
namespace {

/// "lane 3", "lanes 0-15,31".
std::string lanes_in_words(std::uint32_t mask) {
  std::string text = std::has_single_bit(mask) ? "lane " : "lanes ";
  const char* comma = "";
  for (int first = 0; first < kLanes; ++first) {
    if ((mask >> first & 1) == 0) continue;
    const int last = first + std::countr_one(mask >> first) - 1;
    text += first == last ? fmt::format("{}{}", comma, first) : fmt::format("{}{}-{}", comma, first, last);
    comma = ",";
    first = last;
  }
  return text;
}

std::string in_words(const Site& site) {
  const std::string_view path = site.file;
  return fmt::format("{}:{}", path.substr(path.rfind('/') + 1), site.line);
}

}  // namespace

thread_local constinit Machine* Machine::running = nullptr;

Machine::Machine(const Program& program, const Memory& memory, const Options& options)
    : program_(program),
      memory_(memory),
      options_(options),
      scheduler_(options.schedule, options.seed),
      shared_(program.shared_bytes),
      fibres_(std::make_unique<Fibres>(program.threads)),
      warps_(static_cast<std::size_t>(program.threads / kLanes)),
      ready_(warps_.size()),
      copies_(static_cast<std::size_t>(program.threads)) {}

Machine::~Machine() = default;

Result<Stats> Machine::run(Index3 grid) {
  grid_ = grid;
  Machine* const outer = std::exchange(running, this);
  for (block_.z = 0; block_.z < grid.z && finding_.empty(); ++block_.z)
    for (block_.y = 0; block_.y < grid.y && finding_.empty(); ++block_.y)
      for (block_.x = 0; block_.x < grid.x && finding_.empty(); ++block_.x) run_block();
  fibres_->clear();
  running = outer;
  if (!finding_.empty()) return fail(Code::kInternal, finding_);
  return stats_;
}

void Machine::run_block() {
  ++stats_.blocks;
  shared_.poison();
  std::fill(warps_.begin(), warps_.end(), Warp{});
  std::fill(ready_.begin(), ready_.end(), ~std::uint32_t{0});
  for (CopyQueue& copies : copies_) copies.clear();
  live_ = program_.threads;
  waiting_ = 0;
  fibres_->prepare(
      program_.threads,
      [](void* machine, int) {
        Machine& self = *static_cast<Machine*>(machine);
        self.program_.run(self.program_.params);
        return self.thread_ended();
      },
      this);
  now_ = scheduler_.first(ready_);
  fibres_->switch_to(thread());
  if (finding_.empty() && shared_.red_zone_touched())
    finding_ = fmt::format("{}: block ({},{},{}): wrote outside its shared memory of {} bytes", options_.kernel,
                           block_.x, block_.y, block_.z, shared_.size());
}

ThreadIndex Machine::next_thread() {
  ++stats_.switches;
  return scheduler_.next(ready_, now_);
}

void Machine::yield() {
  const ThreadIndex next = next_thread();
  if (next.warp < 0) stop("deadlock: " + waits());
  now_ = next;
  fibres_->switch_to(thread());
}

int Machine::thread_ended() {
  if (fibres_->overflowed(thread()))
    finding_ = where() + fmt::format("used more than {} bytes of stack", StackPool::kStackBytes);
  Warp& w = warp();
  if (w.arrived != 0)
    finding_ = where() + fmt::format("left while {} of its warp wait in {} at {}", lanes_in_words(w.arrived),
                                     w.op->name, in_words(w.site));
  if (!finding_.empty()) return Fibres::kHost;
  w.left |= lane_bit();
  ready() &= ~lane_bit();
  if (--live_ == 0) return Fibres::kHost;
  release_barrier_if_all_wait();
  const ThreadIndex next = next_thread();
  if (next.warp < 0) {
    finding_ = where() + "deadlock after this thread left: " + waits();
    return Fibres::kHost;
  }
  now_ = next;
  return thread();
}

void Machine::meet(const Collective& op, void* operands, Site site) {
  Warp& w = warp();
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
    op.execute(w.operands);
    ++(stats_.*op.counter);
    w.arrived = 0;
    ready() = ~std::uint32_t{0};
  } else {
    ready() &= ~lane_bit();
    yield();
  }
}

void Machine::sync_block(Site site) {
  ++stats_.barriers;
  Warp& w = warp();
  if (w.in_barrier == 0)
    w.barrier_site = site;
  else if (!(w.barrier_site == site))
    stop(fmt::format("sync_block while {} of its warp wait in the one at {}", lanes_in_words(w.in_barrier),
                     in_words(w.barrier_site)),
         &site);
  w.in_barrier |= lane_bit();
  ready() &= ~lane_bit();
  ++waiting_;
  release_barrier_if_all_wait();
  if ((ready() & lane_bit()) == 0) yield();
}

void Machine::release_barrier_if_all_wait() {
  if (waiting_ != live_) return;
  waiting_ = 0;
  for (std::size_t i = 0; i < warps_.size(); ++i) ready_[i] |= std::exchange(warps_[i].in_barrier, 0u);
}

void Machine::copy(std::uintptr_t s_to, std::uintptr_t g_from, bool inside, Site site) {
  ++stats_.copies;
  check_shared(s_to, CopyQueue::kBytes, site);
  if (inside) check_global(g_from, CopyQueue::kBytes, CopyQueue::kBytes, Access::kRead, site);
  copies_[static_cast<std::size_t>(thread())].issue(reinterpret_cast<std::byte*>(s_to),
                                                    inside ? reinterpret_cast<const std::byte*>(g_from) : nullptr);
}

void Machine::check_global(std::uintptr_t address, std::size_t bytes, std::size_t alignment, Access access, Site site) {
  const char* verb = access == Access::kRead ? "reads" : "writes";
  if (!memory_.allows(address, bytes, access))
    stop(fmt::format("{} {} bytes at {}", verb, bytes, memory_.describe(address)), &site);
  if (address % alignment != 0)
    stop(
        fmt::format("{} {} bytes at {}, which is not aligned to {}", verb, bytes, memory_.describe(address), alignment),
        &site);
}

void Machine::check_shared(std::uintptr_t address, std::size_t bytes, Site site) {
  const auto at = static_cast<std::ptrdiff_t>(address - reinterpret_cast<std::uintptr_t>(shared_.data()));
  if (!shared_.holds(address, bytes))
    stop(fmt::format("touches {} bytes at byte {} of a shared memory of {}", bytes, at, shared_.size()), &site);
  if (address % bytes != 0)
    stop(fmt::format("touches {} bytes at byte {} of shared memory, which is not aligned", bytes, at), &site);
}

std::string Machine::waits() const {
  std::string text;
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    const Warp& w = warps_[i];
    if (w.arrived != 0)
      text += fmt::format("warp {} {} wait in {} at {}; ", i, lanes_in_words(w.arrived), w.op->name, in_words(w.site));
    if (w.in_barrier != 0)
      text += fmt::format("warp {} {} wait in sync_block at {}; ", i, lanes_in_words(w.in_barrier),
                          in_words(w.barrier_site));
    if (w.left != 0) text += fmt::format("warp {} {} left; ", i, lanes_in_words(w.left));
  }
  return text.substr(0, text.size() - std::min<std::size_t>(text.size(), 2));
}

std::string Machine::where() const {
  return fmt::format("{}: block ({},{},{}) warp {} lane {} ({}, seed {}): ", options_.kernel, block_.x, block_.y,
                     block_.z, now_.warp, now_.lane, name_of(options_.schedule), options_.seed);
}

void Machine::stop(const std::string& what, const Site* site) {
  finding_ = where() + (site != nullptr ? in_words(*site) + ": " : "") + what;
  fibres_->switch_to(Fibres::kHost);
  std::abort();  // the host unwinds this fibre and never resumes it
}

}  // namespace flashfit::emu
