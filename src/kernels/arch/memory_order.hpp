#pragma once
// What an atomic access of global memory orders, as kernels of all backends say it (PTX ISA, "Memory Consistency
// Model").

namespace flashfit::arch {

enum class MemoryOrder : unsigned char {
  kRelaxed,  ///< nothing but the access itself
  kAcquire,  ///< what was released there comes before what this thread does next
  kRelease,  ///< what this thread knows of comes before what others do who acquire it there
  kAcqRel,   ///< both
};

constexpr bool acquires(MemoryOrder o) { return o == MemoryOrder::kAcquire || o == MemoryOrder::kAcqRel; }
constexpr bool releases(MemoryOrder o) { return o == MemoryOrder::kRelease || o == MemoryOrder::kAcqRel; }

}  // namespace flashfit::arch
