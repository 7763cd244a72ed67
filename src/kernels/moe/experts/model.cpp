#include "kernels/moe/experts/model.hpp"

#include <cmath>

namespace flashfit {
namespace {

/// Of the tensor cores' rate: what a warp that reads each fragment for four m16 tiles, or for one, may reach.
double share_of_peak(const ExpertsProductConfig& c) { return experts_product_granule(c) >= 64 ? 0.65 : 0.3; }
constexpr double kShareOfDram = 0.9;
/// What an SM reads from L2 in a clock, sustained.
constexpr double kL2BytesPerClock = 40;

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
  time.multiplying = 2 * padded * weights / (clocks_us * gpu.mma_flops_clk_sm * share_of_peak(c));
  // x and what lies between the products are read from DRAM and written there once; weights too, if an expert's tiles
  // run side by side.
  const double between = choices * p.owned() / experts * (2 * intermediate + 2 * hidden) + 2 * hidden * p.tokens;
  time.reading_dram = bytes * (active * weights + between) / (gpu.dram_gb_s * 1e3 * kShareOfDram);
  const double operand = rows * active * (hidden * outputs + intermediate * hidden) / c.tile_columns;
  time.reading_l2 = bytes * (tiles * weights + operand) / (clocks_us * kL2BytesPerClock);
  // Between all in a row and all at once.
  time.all = std::sqrt(time.multiplying * time.multiplying + time.reading_dram * time.reading_dram +
                       time.reading_l2 * time.reading_l2);
  return time;
}

}  // namespace flashfit
