#include "core/gpu/occupancy.hpp"

#include <algorithm>

namespace flashfit {
namespace {

constexpr int kSchedulers = 4;      // sub-partitions of an SM; each holds a quarter of the registers and whole warps
constexpr int kRegisterUnit = 256;  // a warp's registers are allocated in these steps

constexpr int round_up(int x, int unit) { return (x + unit - 1) / unit * unit; }

}  // namespace

Occupancy occupancy(const Footprint& f, const Gpu& gpu) {
  const int warps = (f.threads + 31) / 32;
  const int warps_by_registers =
      f.registers == 0 ? gpu.threads_sm / 32
                       : gpu.registers_sm / kSchedulers / round_up(f.registers * 32, kRegisterUnit) * kSchedulers;
  const int reserved = gpu.cc.major >= 8 ? kReservedSharedBytes : 0;

  Occupancy best{gpu.blocks_sm, "blocks"};
  const auto limit = [&](int blocks, const char* by) {
    if (blocks < best.blocks) best = {blocks, by};
  };
  limit(gpu.threads_sm / f.threads, "threads");
  limit(warps_by_registers / warps, "registers");
  const int shared = f.shared_bytes + reserved;
  if (shared > 0) limit(f.shared_bytes > gpu.shared_bytes_block ? 0 : gpu.shared_bytes_sm / shared, "shared memory");
  return best;
}

}  // namespace flashfit
