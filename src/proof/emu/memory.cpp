#include "proof/emu/memory.hpp"

#include <fmt/format.h>

#include <utility>

namespace flashfit::emu {

Memory& Memory::read_only(std::string name, const void* base, std::size_t bytes) {
  tensors_.push_back({std::move(name), reinterpret_cast<std::uintptr_t>(base), bytes, false});
  return *this;
}

Memory& Memory::writable(std::string name, void* base, std::size_t bytes) {
  tensors_.push_back({std::move(name), reinterpret_cast<std::uintptr_t>(base), bytes, true});
  return *this;
}

std::vector<Memory::Range> Memory::writable_ranges() const {
  std::vector<Range> ranges;
  for (const Tensor& t : tensors_)
    if (t.writable) ranges.push_back({t.base, t.bytes});
  return ranges;
}

std::string Memory::describe(std::uintptr_t address) const {
  const auto distance = [address](const Tensor& t) {
    return address < t.base ? t.base - address : address < t.base + t.bytes ? 0 : address - (t.base + t.bytes);
  };
  const Tensor* nearest = nullptr;
  for (const Tensor& t : tensors_)
    if (nearest == nullptr || distance(t) < distance(*nearest)) nearest = &t;
  if (address < 4096) return fmt::format("byte {} from a null pointer", address);
  if (nearest == nullptr) return "an address of no tensor, as none is registered";
  const Tensor& t = *nearest;
  if (address < t.base) return fmt::format("{} bytes before {} ({} bytes)", t.base - address, t.name, t.bytes);
  const char* past =
      address < t.base + t.bytes ? "byte {} of {} ({}{} bytes)" : "byte {} past the end of {} ({}{} bytes)";
  const std::uintptr_t at = address < t.base + t.bytes ? address - t.base : address - (t.base + t.bytes);
  return fmt::format(fmt::runtime(past), at, t.name, t.writable ? "" : "read-only, ", t.bytes);
}

}  // namespace flashfit::emu
