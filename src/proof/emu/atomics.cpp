#include "proof/emu/atomics.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

#include "proof/emu/thread_sanitizer.hpp"

namespace flashfit::emu {
namespace {

using Kind = AtomicOp::Kind;
using Type = AtomicOp::Type;

std::uint64_t sum(Type type, std::uint64_t a, std::uint64_t b) {
  const auto number = [](std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); };
  return type == Type::kFloat ? std::bit_cast<std::uint32_t>(number(a) + number(b)) : a + b;
}

std::uint64_t larger(Type type, std::uint64_t a, std::uint64_t b) {
  const auto number = [](std::uint64_t bits) { return static_cast<std::int32_t>(bits); };
  return type == Type::kInt ? (number(a) < number(b) ? b : a) : std::max(a, b);
}

/// What the place holds once `op` is done, if it held `before`.
std::uint64_t after(const AtomicOp& op, std::uint64_t before) {
  switch (op.kind) {
    case Kind::kAdd:
      return sum(op.type, before, op.value);
    case Kind::kMax:
      return larger(op.type, before, op.value);
    case Kind::kCompareExchange:
      return before == op.expected ? op.value : before;
    case Kind::kLoad:
      return before;
    case Kind::kExchange:
    case Kind::kStore:
      break;
  }
  return op.value;
}

/// With the CPU's atomics too, as bulk copies of other host threads may add to the place.
template <class Bits>
std::uint64_t step(const AtomicOp& op, std::uintptr_t address) {
  const std::atomic_ref<Bits> place(*reinterpret_cast<Bits*>(address));
  Bits before = place.load(std::memory_order_relaxed);
  if (op.kind == Kind::kLoad) return before;
  while (!place.compare_exchange_weak(before, static_cast<Bits>(after(op, before)), std::memory_order_relaxed))
    continue;
  return before;
}

}  // namespace

std::uint64_t execute(const AtomicOp& op, std::uintptr_t address) {
  return op.type == Type::kLong ? step<std::uint64_t>(op, address) : step<std::uint32_t>(op, address);
}

Atomics::Did Atomics::execute(std::uintptr_t address, arch::MemoryOrder order, Order& thread_order, int thread,
                              const std::function<Did()>& step) {
  const std::lock_guard lock(mutex_);
  const Did did = step();
  if (const auto found = places_.find(address); found != places_.end() && did != Did::kStored) {
    if (acquires(order))
      thread_order.acquire(thread, found->second.released);
    else
      thread_order.acquire_by_fence(thread, found->second.released);
    thread_order.acquire_by_sequential_fence(thread, found->second.at_fence);
  } else if (found != places_.end()) {
    // What others made of a released number passes the release on; a store hides it (PTX ISA, "release pattern",
    // "observation order").
    places_.erase(found);
  }
  if (acquires(order)) tsan::acquire(reinterpret_cast<const void*>(address));
  if (did == Did::kRead) return did;
  if (thread_order.has_fenced(thread)) thread_order.release_by_fence(thread, places_[address].released);
  if (const auto& known = thread_order.known_at_fence(thread)) join_shared(places_[address].at_fence, known);
  if (releases(order)) {
    thread_order.release(thread, places_[address].released);
    tsan::release(reinterpret_cast<const void*>(address));
  }
  return did;
}

}  // namespace flashfit::emu
