// How fast the emulator is: forwards of 1024 tokens and one head, by schedule and rounding, in GFLOP/s of processor
// time. Linked with kernels for ThreadSanitizer, the speed of that. One JSON object a line; they are put together by
// hand in bench/results/emulator.json.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>

#include "emulated.hpp"

namespace flashfit::testing {
namespace {

constexpr std::int64_t kTokens = 1024, kHeads = 1;
constexpr int kRuns = 3;

ForwardCase case_of(const ForwardConfig& config) {
  ForwardCase spec;
  spec.name = "speed";
  spec.dtype = config.dtype;
  spec.head_dim = config.head_dim;
  spec.heads_q = spec.heads_kv = kHeads;
  spec.seqlens_q = spec.seqlens_k = {kTokens};
  return spec;
}

/// The best of a few runs; 0 if one fails.
double gigaflops(const EmulatedKernel& kernel, const emu::Options& options) {
  const ForwardCase spec = case_of(forward_variant_of(kernel.variant).config);
  ForwardData data = make_data(spec);
  double best = 0;
  for (int i = 0; i < kRuns; ++i) {
    const std::clock_t start = std::clock();
    if (!run(kernel, data, options)) return 0;
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    const double flops = 4.0 * kHeads * kTokens * kTokens * static_cast<double>(spec.head_dim);
    best = std::max(best, flops / seconds * 1e-9);
  }
  return best;
}

void measure(const EmulatedKernel& kernel) {
  for (const bool tensor_core : {false, true})
    for (emu::Options options : schedules()) {
      if (tensor_core) options.tensor_core = emu::tensor_core_of(90);
      std::fputs(fmt::format("{{\"kernel\": \"{}\", \"schedule\": \"{}\", \"rounding\": \"{}\", \"gflops\": {:.2f}}}\n",
                             kernel.variant.name, name_of(options.schedule), tensor_core ? "tensor core" : "fp32",
                             gigaflops(kernel, options))
                     .c_str(),
                 stdout);
    }
}

}  // namespace
}  // namespace flashfit::testing

int main(int argc, char** argv) {
  using namespace flashfit::testing;
  try {
    for (const EmulatedKernel& kernel : emulated_forwards())
      for (int i = 1; i < argc; ++i)
        if (kernel.variant.name == argv[i]) measure(kernel);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "emulation_speed: %s\n", error.what());
    return 2;
  }
}
