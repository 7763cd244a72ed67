#include "failing_memory.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace flashfit::test {

thread_local int fails_in = 0;

}  // namespace flashfit::test

namespace {

bool fails() {
  if (flashfit::test::fails_in == 0) return false;
  --flashfit::test::fails_in;
  return flashfit::test::fails_in == 0;
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
extern "C" {
void* __real_malloc(std::size_t bytes);
void* __wrap_malloc(std::size_t bytes) { return fails() ? nullptr : __real_malloc(bytes); }
}
// NOLINTEND(bugprone-reserved-identifier)

void* operator new(std::size_t bytes) {
  void* const memory = fails() ? nullptr : __real_malloc(bytes ? bytes : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto step = static_cast<std::size_t>(alignment);
  void* const memory = fails() ? nullptr : std::aligned_alloc(step, (bytes + step - 1) / step * step);
  if (!memory) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
