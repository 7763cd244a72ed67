#include "kernels/attention/forward/plan/registers.hpp"

#include <algorithm>

#include "core/gpu/limits.hpp"

namespace flashfit {
namespace {

// Fragments, addresses, row maxima and sums: the compiled kernels' registers less their accumulators (D64 128x64, D128
// 128x32, D128 128x64 with 8 warps: 218, 250, 186 on 8.0).
constexpr int kOtherRegisters = 90;

}  // namespace

RegisterEstimate estimate_registers(const ForwardConfig& c) {
  const int m16_tiles = std::max(1, c.block_m / c.warps / 16);
  const int accumulators = (c.head_dim + c.block_n) / 8 * 4 * m16_tiles;  // O and S: 4 floats a thread for each 16x8
  const int wanted = accumulators + kOtherRegisters;
  const int promised = kRegistersPerSm / (forward_threads(c) * std::max(1, c.min_blocks)) / 8 * 8;
  return {std::min({wanted, kMaxRegistersPerThread, promised}), wanted};
}

}  // namespace flashfit
