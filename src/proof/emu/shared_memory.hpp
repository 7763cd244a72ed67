#pragma once
// A block's shared memory: as large as the GPU's limit, of which the kernel owns what it says; poisoned.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace flashfit::emu {

class SharedMemory {
 public:
  /// Memory that was never written holds this: a NaN as fp16, bf16 and fp32, and an absurd integer. As bf16 and fp32 it
  /// signals (no 16 bits signal as fp16 too): no computation's result has these bits, so a read that gives them is a
  /// read of memory that was never written.
  static constexpr std::uint16_t kPoison = 0xffa5;

  /// The kernel's own `bytes`, in a memory of `limit` bytes, if that is more.
  SharedMemory(std::size_t bytes, std::size_t limit);

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  /// Poison everywhere, as at the start of a block.
  void poison();
  /// Poison in these bytes, two of which are the least.
  static void poison(std::byte* from, std::size_t bytes);
  /// Whether the kernel owns all the bytes.
  bool holds(std::uintptr_t address, std::size_t bytes) const {
    const std::uintptr_t at = address - reinterpret_cast<std::uintptr_t>(data_);
    return at < bytes_ && bytes_ - at >= bytes;
  }
  /// The offset of a byte outside the kernel's own that a plain store has written: the nearest to them.
  std::optional<std::ptrdiff_t> written_outside() const;

 private:
  static constexpr std::size_t kAlignment = 1024, kRedZone = 1024;

  std::size_t bytes_, after_;  ///< the kernel's; how many follow them
  std::unique_ptr<std::byte[]> memory_;
  std::byte* data_;
};

}  // namespace flashfit::emu
