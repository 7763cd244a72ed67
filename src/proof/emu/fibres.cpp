#include "proof/emu/fibres.hpp"

#include <algorithm>
#include <utility>

#include "proof/emu/thread_sanitizer.hpp"

namespace flashfit::emu {
namespace {

using boost::context::fiber;
using boost::context::stack_context;

// The last bytes of a stack: a frame may jump over one word.
constexpr std::size_t kUntouchedBytes = 512;
constexpr std::byte kUntouched{0x5a};

/// Gives Boost one stack of the pool; the pool keeps it.
struct PooledStack {
  std::byte* low;

  stack_context allocate() const {
    std::fill_n(low, kUntouchedBytes, kUntouched);
    stack_context context;
    context.size = StackPool::kStackBytes;
    context.sp = low + StackPool::kStackBytes;
    return context;
  }
  void deallocate(stack_context&) const {}
};

}  // namespace

StackPool::StackPool(int stacks) : memory_(new std::byte[static_cast<std::size_t>(stacks) * kStride]) {}

bool StackPool::overflowed(int i) const {
  return !std::all_of(stack(i), stack(i) + kUntouchedBytes, [](std::byte b) { return b == kUntouched; });
}

void Fibres::prepare(int count, int step, Body body, void* context) {
  clear();
  slots_.resize(static_cast<std::size_t>(count) + 1);
  for (int i = 0; i < count; i += step)
    slot(i) = fiber(std::allocator_arg, PooledStack{pool_.stack(i)}, [this, i, body, context](fiber&& starter) {
      slot(previous_) = std::move(starter);
      tsan::acquire(&start_);
      const int next = body(context, i);
      tsan::release(&end_);
      enter(next);
      previous_ = i;
      running_ = next;
      return std::move(slot(next));
    });
  tsan::release(&start_);
}

void Fibres::switch_to(int i) {
  enter(i);
  previous_ = std::exchange(running_, i);
  fiber suspended = std::move(slot(i)).resume();
  slot(previous_) = std::move(suspended);
  if (running_ == kHost) tsan::acquire(&end_);
}

void Fibres::clear() {
  for (int i = 0; i + 1 < static_cast<int>(slots_.size()); ++i) {
    if (!slot(i)) continue;
    enter(i);  // what it unwinds is its own
    slot(i) = fiber();
    tsan::release(&end_);
  }
  enter(kHost);
  tsan::acquire(&end_);  // else freeing what they wrote races with each 8 bytes of it
  slots_.resize(1);
}

void Fibres::enter(int i) const {
  if (!tsan::on()) return;
  if (i == kHost)
    tsan::enter_host();
  else
    tsan::enter(first_race_ + i);
}

}  // namespace flashfit::emu
