#include "proof/emu/shared_memory.hpp"

#include <algorithm>
#include <cstring>

namespace flashfit::emu {
namespace {

/// The first byte of [from, from + bytes) that is no poison; its start is even.
const std::byte* first_written(const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kStep = 512;
  std::byte pattern[kStep];
  SharedMemory::poison(pattern, kStep);
  for (std::size_t at = 0; at < bytes; at += kStep) {
    const std::size_t length = std::min(kStep, bytes - at);
    if (std::memcmp(from + at, pattern, length) != 0)
      return std::mismatch(from + at, from + at + length, pattern).first;
  }
  return nullptr;
}

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes, std::size_t limit)
    : bytes_(bytes),
      after_(std::max(limit, bytes) - bytes + kRedZone),
      memory_(new std::byte[bytes_ + after_ + kRedZone + kAlignment]) {
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(memory_.get()) + kRedZone;
  data_ = memory_.get() + kRedZone + (kAlignment - first % kAlignment) % kAlignment;
  poison(data_ - kRedZone, kRedZone);
  poison(data_ + bytes_, after_);
}

void SharedMemory::poison(std::byte* from, std::size_t bytes) {
  const std::uint64_t pattern = 0x0001000100010001u * kPoison;
  std::size_t at = 0;
  for (; at + 8 <= bytes; at += 8) std::memcpy(from + at, &pattern, 8);
  std::memcpy(from + at, &pattern, bytes - at);
}

void SharedMemory::poison() { poison(data_, bytes_); }

std::optional<std::ptrdiff_t> SharedMemory::written_outside() const {
  if (const std::byte* after = first_written(data_ + bytes_, after_)) return after - data_;
  if (const std::byte* before = first_written(data_ - kRedZone, kRedZone)) return before - data_;
  return std::nullopt;
}

}  // namespace flashfit::emu
