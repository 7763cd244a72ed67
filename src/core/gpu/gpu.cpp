#include "core/gpu/gpu.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/gpu/gpu_key.hpp"

namespace flashfit {
namespace {

// What follows from the compute capability alone. Source: CUDA C++ Programming Guide,
// technical specifications per compute capability.
struct SmLimits {
  int shared_kb, threads, blocks;
};

constexpr SmLimits sm_limits(int cc) {
  switch (cc) {
    case 70:
      return {96, 2048, 32};
    case 75:
      return {64, 1024, 16};
    case 80:
      return {164, 2048, 32};
    case 86:
      return {100, 1536, 16};
    case 87:
      return {164, 1536, 16};
    case 89:
      return {100, 1536, 24};
    case 90:
    case 100:
    case 103:
      return {228, 2048, 32};
    case 110:
      return {228, 1536, 24};
    default:
      return {100, 1536, 24};  // 12.0, 12.1
  }
}

Gpu gpu(const char* name, int cc, int sms, double clock_ghz, double mma_flops_clk_sm, double dram_gb_s) {
  const SmLimits limits = sm_limits(cc);
  return {.name = name,
          .cc = {cc / 10, cc % 10},
          .sms = sms,
          .shared_bytes_sm = limits.shared_kb * 1024,
          .shared_bytes_block = max_shared_bytes(cc),
          .threads_sm = limits.threads,
          .blocks_sm = limits.blocks,
          .clock_ghz = clock_ghz,
          .mma_flops_clk_sm = mma_flops_clk_sm,
          .dram_gb_s = dram_gb_s};
}

// mma.sync on Hopper reaches about 0.62 of the 4096 that wgmma does (measured); the rate on 10.x and 11.0, whose full
// rate is tcgen05's 8192, is not published: taken as Ampere's.
constexpr double kHopperMma = 0.62 * 4096, kTcgen05GpuMma = 2048;

// SMs, clock, DRAM: NVIDIA's datasheets and architecture whitepapers, the SXM form where there are several; boost
// clock, but for 9.0 and 10.x the clock that the datasheet's dense tensor rate implies. mma: the datasheet's dense
// 16-bit rate with fp32 accumulation / (SMs * clock), rounded to the power of two that it is up to rounding (GeForce
// and L40: half of their siblings'). Orin, Thor, DGX Spark: derived from the published sparse INT8 or FP4 rate. Models,
// not promises: limits that decide whether something fits are those of sm_limits.
const std::array kTable = {
    gpu("V100", 70, 80, 1.53, 1024, 900),
    gpu("RTX 2080 Ti", 75, 68, 1.545, 512, 616),
    gpu("T4", 75, 40, 1.59, 1024, 320),
    gpu("A100", 80, 108, 1.41, 2048, 1555),
    gpu("A100 80GB", 80, 108, 1.41, 2048, 2039),
    gpu("A30", 80, 56, 1.44, 2048, 933),
    gpu("A10", 86, 72, 1.695, 1024, 600),
    gpu("A40", 86, 84, 1.74, 1024, 696),
    gpu("RTX 3090", 86, 82, 1.695, 512, 936),
    gpu("Orin", 87, 16, 1.3, 2048, 204.8),
    gpu("L4", 89, 58, 2.04, 1024, 300),
    gpu("L40", 89, 142, 2.49, 512, 864),
    gpu("L40S", 89, 142, 2.52, 1024, 864),
    gpu("RTX 4090", 89, 128, 2.52, 512, 1008),
    gpu("GH200", 90, 132, 1.83, kHopperMma, 4000),
    gpu("H100", 90, 132, 1.83, kHopperMma, 3350),
    gpu("H200", 90, 132, 1.83, kHopperMma, 4800),
    gpu("B200", 100, 148, 1.86, kTcgen05GpuMma, 8000),
    gpu("GB200", 100, 148, 2.06, kTcgen05GpuMma, 8000),
    gpu("B300", 103, 148, 1.86, kTcgen05GpuMma, 8000),
    gpu("GB300", 103, 148, 2.06, kTcgen05GpuMma, 8000),
    gpu("Thor", 110, 20, 1.575, kTcgen05GpuMma, 273),
    gpu("RTX 5090", 120, 170, 2.407, 512, 1792),
    gpu("RTX PRO 6000", 120, 188, 2.617, 1024, 1792),
    gpu("DGX Spark", 121, 48, 2.418, 1024, 273),
};

struct Alias {
  const char *key, *name;
};

// Keys as gpu_key makes them. A series stands for its largest member.
constexpr Alias kAliases[] = {
    {"rtx20", "RTX 2080 Ti"}, {"rtx30", "RTX 3090"},          {"rtx40", "RTX 4090"},  {"rtx50", "RTX 5090"},
    {"a10040gb", "A100"},     {"gb10", "DGX Spark"},          {"spark", "DGX Spark"}, {"agxorin", "Orin"},
    {"agxthor", "Thor"},      {"rtx6000pro", "RTX PRO 6000"},
};

const Gpu* find_key(const std::string& key) {
  if (key.empty()) return nullptr;
  for (const Gpu& g : kTable)
    if (gpu_key(g.name, false) == key) return &g;
  for (const Alias& a : kAliases)
    if (a.key == key) return find_key(gpu_key(a.name, false));
  return nullptr;
}

// "8.9" -> the first GPU of 8.9.
const Gpu* find_capability(std::string_view text) {
  for (const Gpu& g : kTable)
    if (g.cc.str() == text) return &g;
  return nullptr;
}

std::vector<std::string_view> near_names(const std::string& key) {
  std::vector<std::string_view> near;
  for (const Gpu& g : kTable) {
    const std::string name = gpu_key(g.name, false);
    if (key.size() >= 2 && (edit_distance(key, name) <= 1 || key.starts_with(name) || name.starts_with(key)))
      near.push_back(g.name);
  }
  return near;
}

}  // namespace

std::span<const Gpu> gpu_table() { return kTable; }

Result<Gpu> find_gpu(std::string_view name_or_cc) {
  for (const bool drop_memory_size : {false, true})
    if (const Gpu* g = find_key(gpu_key(name_or_cc, drop_memory_size))) return *g;
  if (const Gpu* g = find_capability(name_or_cc)) return *g;

  if (const auto near = near_names(gpu_key(name_or_cc, true)); !near.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("gpu '{}' is not in the table; near: {}", name_or_cc, fmt::join(near, ", ")));
  std::vector<std::string> known;
  for (const Gpu& g : kTable) known.push_back(g.name);
  return fail(Code::kInvalidArgument,
              fmt::format("gpu '{}' is not in the table; known: {}, or a compute capability such as 8.9", name_or_cc,
                          fmt::join(known, ", ")));
}

}  // namespace flashfit
