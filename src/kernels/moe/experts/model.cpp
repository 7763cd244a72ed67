#include "kernels/moe/experts/model.hpp"

#include <algorithm>
#include <cmath>

namespace flashfit {
namespace {

/// FLOP of an SM and clock that a configuration may reach. mma.sync: of the GPU's rate, what a warp may that reads each
/// fragment for four m16 tiles, or for one. wgmma: of 4,096, which it needs 64 rows for.
double rate(const ExpertsProductConfig& c, double rows, const Gpu& gpu) {
  if (c.engine == ExpertsEngine::kMma) return gpu.mma_flops_clk_sm * (experts_product_granule(c) >= 64 ? 0.65 : 0.3);
  return 4096 * 0.65 * std::min(rows / 64, 1.0);
}
// share_of_dram(), starting() and uneven() are fitted to 1 to 64 tokens of eight models on an H100, by wgmma and by
// small tiles with rings of four and of eight stages (docs/moe-kernels.md, "Few tokens"): times within 5 % in the root
// of the mean square.

/// TMA and as many stages as there is room for keep more bytes in flight.
double share_of_dram(const ExpertsProductConfig& c) {
  return c.engine == ExpertsEngine::kWgmma ? 0.96 : c.stages > 4 ? 0.936 : 0.915;
}
/// Microseconds in which no weights are read: other launches, and the products' beginnings and ends. For wgmma 4 of
/// the 12 are a launch that gathered rows when this was fitted. On an H200, which has no such launch any more, the
/// choices by these numbers are as good, and would be less so by 8.
double starting(const ExpertsProductConfig& c) { return c.engine == ExpertsEngine::kWgmma ? 12 : 7; }
/// What an SM reads from L2 in a clock, sustained.
constexpr double kL2BytesPerClock = 40;

/// How much longer `works` blocks that are not persistent read from DRAM than many would: a few of them have too few
/// bytes in flight, and where not all are resident at once, the last ones begin when others end.
double uneven(const ExpertsProductConfig& c, double works, const Gpu& gpu) {
  constexpr double kEnough = 48 * 1024;  // bytes in flight to an SM
  const double at_once = gpu.sms * static_cast<double>(c.min_blocks);
  if (works > at_once) return 1 + 0.07 * (std::ceil(works / at_once) * at_once / works - 1);
  const double on_way = works / gpu.sms * (c.stages - 1) * c.tile_columns * c.depth * size_of(c.dtype);
  return 1 / (1 - 0.45 * std::max(0.0, 1 - on_way / kEnough));
}

}  // namespace

ExpertsTime experts_model(const ExpertsProductConfig& c, const ExpertsProblem& p, const Gpu& gpu) {
  const double choices = static_cast<double>(p.rows()), experts = p.experts > 0 ? p.experts : 1;
  const double active = p.owned() * (1 - std::pow(1 - 1 / experts, choices));
  ExpertsTime time{};
  if (active <= 0) return time;
  const double rows = choices * p.owned() / experts / active;  // of an expert that has any
  const double tiles = active * std::ceil(rows / c.tile_rows);
  const double granule = experts_product_granule(c), padded = active * std::ceil(rows / granule) * granule;
  const double hidden = p.hidden, intermediate = p.intermediate, outputs = p.first_outputs();
  const double weights = hidden * (outputs + intermediate);  // of an expert, elements
  const double clocks_us = gpu.sms * gpu.clock_ghz * 1e3, bytes = size_of(p.dtype);
  time.multiplying = 2 * padded * weights /
                     (clocks_us * rate(c, std::min<double>(std::ceil(rows / granule) * granule, c.tile_rows), gpu));
  // x and what lies between the products are read from DRAM and written there once; weights too, if an expert's tiles
  // run side by side.
  const double kept = p.keeps ? outputs : 0;
  const double between = choices * p.owned() / experts * (2 * intermediate + kept + 2 * hidden) + 2 * hidden * p.tokens;
  time.reading_dram = bytes * (active * weights + between) / (gpu.dram_gb_s * 1e3 * share_of_dram(c));
  const double first = outputs / (outputs + intermediate);  // of the weights, the first product's
  if (c.engine == ExpertsEngine::kMma)
    time.reading_dram *= first * uneven(c, tiles * outputs / c.tile_columns, gpu) +
                         (1 - first) * uneven(c, tiles * hidden / c.tile_columns, gpu);
  const double operand = rows * active * (hidden * outputs + intermediate * hidden) / c.tile_columns;
  time.reading_l2 = bytes * (tiles * weights + operand) / (clocks_us * kL2BytesPerClock);
  if (c.engine == ExpertsEngine::kWgmma || c.min_blocks == 1) {
    // One block an SM, which takes whole tiles: the last ones leave SMs idle, but what is read from DRAM is shared.
    const auto rounds = [&](double works) { return std::ceil(works / gpu.sms) * gpu.sms / works; };
    const double both =
        first * rounds(tiles * outputs / c.tile_columns) + (1 - first) * rounds(tiles * hidden / c.tile_columns);
    time.multiplying *= both;
    time.reading_l2 *= both;
  }
  // Between all in a row and all at once.
  time.all = starting(c) + std::sqrt(time.multiplying * time.multiplying + time.reading_dram * time.reading_dram +
                                     time.reading_l2 * time.reading_l2);
  return time;
}

}  // namespace flashfit
