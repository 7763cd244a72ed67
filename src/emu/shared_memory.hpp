#pragma once
// A block's shared memory: exactly as large as the kernel says, poisoned, with red zones around it.
#include <cstddef>
#include <cstdint>
#include <memory>

namespace flashfit::emu {

class SharedMemory {
 public:
  /// What fresh memory holds: NaN as fp16, bf16 and fp32, and an absurd integer.
  static constexpr int kPoison = 0xff;

  explicit SharedMemory(std::size_t bytes);

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  /// Poison everywhere, as at the start of a block.
  void poison();
  /// Whether all the bytes are inside.
  bool holds(std::uintptr_t address, std::size_t bytes) const {
    const std::uintptr_t at = address - reinterpret_cast<std::uintptr_t>(data_);
    return at < bytes_ && bytes_ - at >= bytes;
  }
  /// Whether somebody wrote into a red zone past the contract's checks.
  bool red_zone_touched() const;

 private:
  static constexpr std::size_t kAlignment = 1024, kRedZone = 1024;
  static constexpr std::byte kRed{0xa5};

  std::size_t bytes_;
  std::unique_ptr<std::byte[]> memory_;
  std::byte* data_;
};

}  // namespace flashfit::emu
