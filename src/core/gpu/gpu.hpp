#pragma once
// What each GPU can do: the one struct that the plan decides by, filled from the table
// (any machine) or from the live device.
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/gpu/limits.hpp"
#include "core/gpu/target.hpp"

namespace flashfit {

struct Gpu {
  std::string name;  ///< "L4"; a live device's own name ("NVIDIA L4")
  ComputeCapability cc;
  int sms;                 ///< streaming multiprocessors
  int shared_bytes_sm;     ///< shared memory of an SM
  int shared_bytes_block;  ///< opt-in limit of one block
  int threads_sm;          ///< resident threads of an SM
  int blocks_sm;           ///< resident blocks of an SM
  int registers_sm = kRegistersPerSm;
  double clock_ghz;         ///< boost clock
  double mma_flops_clk_sm;  ///< dense 16-bit mma.sync with fp32 accumulation, FLOP per clock and SM
  double dram_gb_s;         ///< 10^9 bytes per second
};

/// Every GPU in the table, by compute capability, then name.
std::span<const Gpu> gpu_table();

/// Finds a GPU by name ("L4", "rtx 4090", "NVIDIA H100": case, spaces, dashes and the vendor's name are ignored) or by
/// compute capability ("8.9": the first of that capability). Error: names the value and lists what is known.
Result<Gpu> find_gpu(std::string_view name_or_cc);

}  // namespace flashfit
