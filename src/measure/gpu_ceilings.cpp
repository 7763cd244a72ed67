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

/// The better of the two ways to multiply, where the GPU has both.
Result<std::vector<double>> tensor_tflops(GpuBed& bed, const char* dtype, float* out) {
  // FLOP of a step of a block, as product_loop.cuh and warpgroup_loop.cuh count them.
  constexpr double kProduct = 2.0 * 16 * 8 * 16 * 8 * kThreads / 32, kWarpgroup = 2.0 * 2 * 64 * 256 * 64 * 4;
  const int sms = bed.gpu().sms;
  std::vector<double> best;
  for (const bool wgmma : {true, false}) {
    const std::string kernel = std::string(wgmma ? "wgmma_" : "product_") + dtype;
    if (!bed.has(kernel)) continue;
    const int blocks = wgmma ? sms : 4 * sms;
    Result<std::vector<double>> found = rates(bed, (wgmma ? kWarpgroup : kProduct) * blocks, [&](int steps) {
      const LoopParams params{.out = out, .steps = steps};
      return bed.launch(kernel, blocks, kThreads, &params);
    });
    if (!found) return found;
    if (best.empty() || *std::max_element(found->begin(), found->end()) > *std::max_element(best.begin(), best.end()))
      best = std::move(*found);
  }
  scale(best, 1e-12);
  return best;
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
  for (const char* dtype : {"fp16", "bf16"}) {
    Result<std::vector<double>> found = tensor_tflops(bed, dtype, sums);
    if (!found) return tl::unexpected(found.error());
    if (!found->empty())
      c.tensor_tflops[dtype] = {.model = gpu.mma_flops_clk_sm * gpu.sms * gpu.clock_ghz * 1e-3,
                                .samples = std::move(*found)};
  }
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
