#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "kernels/attention/forward/plan/candidates.hpp"
#include "kernels/attention/forward/plan/misfit.hpp"
#include "kernels/attention/forward/plan/model.hpp"
#include "kernels/attention/forward/plan/plan.hpp"
#include "kernels/attention/forward/wgmma/heads/config.hpp"
#include "kernels/attention/pack.hpp"

namespace flashfit {
namespace {

/// What refuses the configuration, or "".
std::string refusal(const ForwardConfig& c, const Fit& fit, const Gpu& gpu) {
  if (fit.threads > kMaxThreadsPerBlock)
    return fmt::format("threads: {} a block > {}, the limit of every GPU", fit.threads, kMaxThreadsPerBlock);
  if (const char* error = config_error_of(c)) return fmt::format("shape: {}", error);
  if (gpu.cc < ComputeCapability{7, 5})
    return fmt::format("instructions: {} lacks ldmatrix and the mma shapes of 7.5 and later", describe(gpu));
  if (c.dtype == DType::kBF16 && gpu.cc.major < 8)
    return fmt::format("instructions: {} has no bf16 tensor cores", describe(gpu));
  if (fit.shared_bytes > gpu.shared_bytes_block)
    return fmt::format(
        "shared memory: {} B (0x{:x}) a block > {} B, the opt-in limit on {} ({} B is the limit of static __shared__ "
        "alone, the same on every GPU)",
        fit.shared_bytes, fit.shared_bytes, gpu.shared_bytes_block, gpu.name, kStaticSharedBytes);
  if (const int total = fit.registers * fit.threads; total > gpu.registers_sm)
    return fmt::format("registers: {} threads x {} = {} > {} of an SM", fit.threads, fit.registers, total,
                       gpu.registers_sm);
  if (fit.threads > gpu.threads_sm)
    return fmt::format("threads: {} a block > {} of an SM", fit.threads, gpu.threads_sm);
  return "";
}

}  // namespace

Fit what_if(const ForwardConfig& c, const ForwardProblem& problem, const Gpu& gpu, std::span<const Image> images) {
  images = images_of(kForwardOperation, images);
  const ForwardProblem launched = packs_heads(problem) ? pack_heads(problem) : problem;
  Fit fit;
  fit.config = c;
  fit.threads = forward_threads(c);
  fit.shared_bytes = shared_bytes_of(c);
  if (fit.threads > 0) {
    const Registers registers = registers_of(c, nullptr, images);
    fit.registers = registers.count;
    fit.registers_estimated = registers.estimated;
    fit.spill_bytes = registers.spill_bytes;
  }
  fit.binds = refusal(c, fit, gpu);
  if (!fit.binds.empty()) return fit;

  const Occupancy resident = occupancy({fit.threads, fit.registers, fit.shared_bytes}, gpu);
  fit.blocks_per_sm = resident.blocks;
  fit.fits = resident.blocks > 0;
  if (!fit.fits) {
    fit.binds = fmt::format("{}: not one block of {} threads x {} registers, {} B", resident.limited_by, fit.threads,
                            fit.registers, fit.shared_bytes);
    return fit;
  }
  fit.model = forward_model(c, resident, fit.spill_bytes, launched, gpu);
  fit.binds =
      fmt::format("{} ({} block{} per SM)", resident.limited_by, resident.blocks, resident.blocks == 1 ? "" : "s");
  if (fit.shared_bytes > kStaticSharedBytes)
    fit.binds += fmt::format("; past {} B of static __shared__, so opted in", kStaticSharedBytes);
  if (fit.spill_bytes > 0) fit.binds += fmt::format("; spills about {} B a thread", fit.spill_bytes);
  return fit;
}

ForwardConfig variant_or_self(const ForwardConfig& config) {
  for (const ForwardVariant& variant : forward_variants()) {
    ForwardConfig c = config;
    c.min_blocks = variant.config.min_blocks;
    c.held_steps = variant.config.held_steps;
    c.copy_parts = variant.config.copy_parts;
    c.early_tiles = variant.config.early_tiles;
    c.trusting = variant.config.trusting;
    if (c == variant.config) return c;
  }
  return config;
}

std::vector<Fit> sweep(const ForwardProblem& problem, const Gpu& gpu, std::span<const Image> images) {
  std::vector<Fit> fits;
  for (const int warps : {2, 4, 8, 12, 16})
    for (const int rows_a_warp : {16, 32})
      for (const int block_n : {32, 64, 96, 128})
        for (const int stages : {2, 3}) {
          ForwardConfig c = tile_config(problem.dtype, (problem.head_dim + 31) / 32 * 32, warps * rows_a_warp, block_n,
                                        warps, stages);
          c.head_dim_v = (problem.head_dim_v + 31) / 32 * 32;
          if (Fit fit = what_if(variant_or_self(c), problem, gpu, images); fit.fits) fits.push_back(std::move(fit));
        }
  std::stable_sort(fits.begin(), fits.end(),
                   [](const Fit& a, const Fit& b) { return a.model.microseconds < b.model.microseconds; });
  return fits;
}

}  // namespace flashfit
