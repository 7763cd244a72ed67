#include <algorithm>

#include "measure/gpu_backend.hpp"
#include "measure/kernel_params.hpp"

namespace flashfit::measure {
namespace {

constexpr int kBursts = 12;
constexpr double kBurstUs = 1000;

/// How much `launch(steps)` does in a second, sample by sample, at as many steps as fill a burst. `amount`: of one
/// step.
Result<std::vector<double>> rates(GpuBed& bed, double amount, const std::function<Result<void>(int steps)>& launch) {
  constexpr int kFirst = 64;
  double us = 0;
  for (int i = 0; i < 2; ++i) {
    const Result<double> first = bed.time([&] { return launch(kFirst); });
    if (!first) return tl::unexpected(first.error());
    us = *first;
  }
  const int steps = std::max(kFirst, static_cast<int>(kFirst * kBurstUs / std::max(us, 1.0)));
  std::vector<double> all;
  for (int i = 0; i < kBursts; ++i) {
    const Result<double> burst = bed.time([&] { return launch(steps); });
    if (!burst) return tl::unexpected(burst.error());
    all.push_back(amount * steps / (*burst * 1e-6));
  }
  return all;
}

void scale(std::vector<double>& values, double factor) {
  for (double& x : values) x *= factor;
}

/// TFLOP/s of a kernel that multiplies and nothing else, `flop` in each step of a block; nothing where this GPU has no
/// such kernel.
Result<std::vector<double>> tflops(GpuBed& bed, const std::string& kernel, double flop, int blocks, float* out) {
  if (!bed.has(kernel)) return std::vector<double>();
  Result<std::vector<double>> found = rates(bed, flop * blocks, [&](int steps) {
    const LoopParams params{.out = out, .steps = steps};
    return bed.launch(kernel, blocks, kThreads, &params);
  });
  if (found) scale(*found, 1e-12);
  return found;
}

/// By mma.sync, and by the better of it and wgmma, where the GPU has both.
Result<void> measure_products(GpuBed& bed, const std::string& dtype, float* out, Ceilings& ceilings) {
  // FLOP of a step of a block, as product_loop.cuh and warpgroup_loop.cuh count them.
  constexpr double kProduct = 2.0 * 16 * 8 * 16 * 8 * kThreads / 32, kWarpgroup = 2.0 * 2 * 64 * 256 * 64 * 4;
  const Gpu& gpu = bed.gpu();
  Result<std::vector<double>> wgmma = tflops(bed, "wgmma_" + dtype, kWarpgroup, gpu.sms, out);
  if (!wgmma) return tl::unexpected(wgmma.error());
  Result<std::vector<double>> mma_sync = tflops(bed, "product_" + dtype, kProduct, 4 * gpu.sms, out);
  if (!mma_sync) return tl::unexpected(mma_sync.error());
  const double model = gpu.mma_flops_clk_sm * gpu.sms * gpu.clock_ghz * 1e-3;
  Ceiling by_mma_sync{.model = model, .samples = std::move(*mma_sync)};
  Ceiling by_wgmma{.model = model, .samples = std::move(*wgmma)};
  const Ceiling& better = by_wgmma.value() > by_mma_sync.value() ? by_wgmma : by_mma_sync;
  if (!better.samples.empty()) ceilings.tensor_tflops[dtype] = better;
  if (!by_mma_sync.samples.empty()) ceilings.mma_sync_tflops[dtype] = std::move(by_mma_sync);
  return {};
}

Result<std::vector<double>> memory_gb_per_s(GpuBed& bed, float* out) {
  const Result<std::size_t> free = bed.free_bytes();
  if (!free) return tl::unexpected(free.error());
  const std::size_t bytes = std::min<std::size_t>(*free / 4, std::size_t{2} << 30) & ~std::size_t{255};
  const Result<std::byte*> data = bed.allocate(bytes);
  if (!data) return tl::unexpected(data.error());
  if (Result<void> r = bed.poison(*data, bytes); !r) return tl::unexpected(r.error());
  const ReadParams params{.data = *data, .lines = static_cast<int64>(bytes / 16), .out = out};
  std::vector<double> all;
  for (int i = 0; i < kBursts; ++i) {
    const Result<double> us = bed.time([&] { return bed.launch("read", bed.gpu().sms * 8, kThreads, &params); });
    if (!us) return tl::unexpected(us.error());
    all.push_back(static_cast<double>(bytes) / *us * 1e-3);
  }
  return all;
}

}  // namespace

Result<Ceilings> measure_ceilings(GpuBed& bed) {
  bed.release();
  const Result<std::byte*> out = bed.allocate(kThreads * sizeof(float));
  if (!out) return tl::unexpected(out.error());
  auto* const sums = reinterpret_cast<float*>(*out);
  const Gpu& gpu = bed.gpu();
  Ceilings c;
  for (const char* dtype : {"fp16", "bf16"})
    if (Result<void> found = measure_products(bed, dtype, sums, c); !found) return tl::unexpected(found.error());
  constexpr double kChains = 16;  // of exp_loop.cuh
  const int blocks = 8 * gpu.sms;
  Result<std::vector<double>> exps = rates(bed, kChains * kThreads * blocks, [&](int steps) {
    const LoopParams params{.out = sums, .steps = steps};
    return bed.launch("exp", blocks, kThreads, &params);
  });
  if (!exps) return tl::unexpected(exps.error());
  scale(*exps, 1e-9);
  c.exp_g_per_s = {.model = 16.0 * gpu.sms * gpu.clock_ghz, .samples = std::move(*exps)};
  Result<std::vector<double>> memory = memory_gb_per_s(bed, sums);
  if (!memory) return tl::unexpected(memory.error());
  c.memory_gb_per_s = {.model = gpu.dram_gb_s, .samples = std::move(*memory)};
  bed.release();
  return c;
}

}  // namespace flashfit::measure
