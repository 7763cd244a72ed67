#pragma once
// A fuzzed call's struct of arguments.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace flashfit::fuzz {

/// A copy of `args` in exactly as much memory as a library of this version may read; `tail` is what a newer caller set
/// past the struct. A size that no version can have promises nothing about what follows it.
template <class Args>
std::unique_ptr<std::uint8_t[]> sealed(const Args& args, const std::vector<std::uint8_t>& tail = {}) {
  const std::size_t size = args.struct_size <= 4096 ? std::max<std::size_t>(args.struct_size, 4) : sizeof args;
  auto memory = std::make_unique<std::uint8_t[]>(size);
  std::memcpy(memory.get(), &args, std::min(size, sizeof args));
  if (size > sizeof args)
    std::copy_n(tail.begin(), std::min(tail.size(), size - sizeof args), memory.get() + sizeof args);
  return memory;
}

/// The struct as the library must read it: what an older caller lacks is 0.
template <class Args>
Args as_read(const std::uint8_t* memory, std::uint32_t struct_size) {
  Args args{};
  std::memcpy(&args, memory, std::min<std::size_t>(struct_size, sizeof args));
  return args;
}

}  // namespace flashfit::fuzz
