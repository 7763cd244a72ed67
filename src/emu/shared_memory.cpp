#include "emu/shared_memory.hpp"

#include <algorithm>
#include <cstring>

namespace flashfit::emu {

SharedMemory::SharedMemory(std::size_t bytes)
    : bytes_(bytes), memory_(new std::byte[bytes + 2 * kRedZone + kAlignment]) {
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(memory_.get()) + kRedZone;
  data_ = memory_.get() + kRedZone + (kAlignment - first % kAlignment) % kAlignment;
  std::fill(data_ - kRedZone, data_, kRed);
  std::fill(data_ + bytes_, data_ + bytes_ + kRedZone, kRed);
}

void SharedMemory::poison() { std::memset(data_, kPoison, bytes_); }

bool SharedMemory::red_zone_touched() const {
  const auto whole = [](const std::byte* zone) {
    return std::all_of(zone, zone + kRedZone, [](std::byte b) { return b == kRed; });
  };
  return !whole(data_ - kRedZone) || !whole(data_ + bytes_);
}

}  // namespace flashfit::emu
