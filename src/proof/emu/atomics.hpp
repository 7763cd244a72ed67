#pragma once
// Atomic operations: on global memory at the scope of the GPU, one for all host threads of a launch, so that a value
// and what was released with it are read and written as one; on shared memory one for a cluster.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "kernels/arch/memory_order.hpp"
#include "proof/emu/order.hpp"

namespace flashfit::emu {

/// One operation; numbers as bits, in the low half if they have 4 bytes.
struct AtomicOp {
  enum class Kind : unsigned char { kAdd, kMax, kExchange, kCompareExchange, kLoad, kStore };
  enum class Type : unsigned char { kInt, kUnsigned, kLong, kFloat };
  Kind kind;
  Type type;
  arch::MemoryOrder order;
  std::uint64_t value = 0, expected = 0;

  std::size_t bytes() const { return type == Type::kLong ? 8 : 4; }
};

class Atomics {
 public:
  /// What a step did at its place: read it, wrote what it made of what it read, or wrote whatever was there.
  enum class Did : unsigned char { kRead, kChanged, kStored };

  /// Does `step` at `address` for a thread whose clocks are in `thread_order`, and returns what it did.
  Did execute(std::uintptr_t address, arch::MemoryOrder order, Order& thread_order, int thread,
              const std::function<Did()>& step);
  /// Nothing has been released.
  void clear() { places_.clear(); }

 private:
  std::mutex mutex_;
  struct Place {
    Released released;
    std::shared_ptr<const Released> at_fence;  ///< for fences.sc alone
  };
  std::unordered_map<std::uintptr_t, Place> places_;
};

/// `op` at `address`, alone. What was there before, as bits.
std::uint64_t execute(const AtomicOp& op, std::uintptr_t address);

}  // namespace flashfit::emu
