#pragma once
// Limits that follow from the compute capability alone. Neutral: kernels check them at compile time.
// Source: CUDA C++ Programming Guide, "Compute Capabilities", table of technical specifications per compute capability.

namespace flashfit {

/// Static __shared__ of any GPU; past it a kernel must use dynamic shared memory and opt in.
inline constexpr int kStaticSharedBytes = 48 * 1024;
/// The driver keeps this much of an SM's shared memory for itself per resident block, from compute capability 8.0 on.
inline constexpr int kReservedSharedBytes = 1024;
inline constexpr int kMaxRegistersPerThread = 255;
inline constexpr int kRegistersPerSm = 64 * 1024;
inline constexpr int kMaxThreadsPerBlock = 1024;

/// Opt-in shared memory of one block in bytes, by compute capability as a decimal (89 = 8.9); 0 if it is not in the table.
constexpr int max_shared_bytes(int cc) {
  switch (cc) {
    case 70: return 96 * 1024;
    case 75: return 64 * 1024;
    case 80: case 87: return 163 * 1024;
    case 86: case 89: case 120: case 121: return 99 * 1024;
    case 90: case 100: case 103: case 110: return 227 * 1024;
    default: return 0;
  }
}

}  // namespace flashfit
