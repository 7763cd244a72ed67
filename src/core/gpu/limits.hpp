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

/// Opt-in shared memory of one block in bytes, by compute capability as a decimal
/// (89 = 8.9); 0 if it is not in the table.
constexpr int max_shared_bytes(int cc) {
  if (cc == 70) return 96 * 1024;
  if (cc == 75) return 64 * 1024;
  if (cc == 80 || cc == 87) return 163 * 1024;
  if (cc == 86 || cc == 89 || cc == 120 || cc == 121) return 99 * 1024;
  if (cc == 90 || cc == 100 || cc == 103 || cc == 110) return 227 * 1024;
  return 0;
}

}  // namespace flashfit
