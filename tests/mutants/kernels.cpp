// Two kernels, compiled from a copy of the sources with one defect: the table's row of fp16 with tall tiles, which
// holds Q in registers, and a general one of bf16, which does not, so small that it has many tiles of few keys: its
// warps share rows, each with half of V's columns.
#include "emulated/shard.cuh"

namespace flashfit::emulated {
namespace {

constexpr ForwardVariant kGeneral{variant_rows::general(variant_rows::row(DType::kBF16, 128, 32, 16, 4, 1), 2),
                                  variant_rows::kAmpereOn};

Result<emu::Stats> launch_general(emu::Index3 grid, const ForwardParams& params, const emu::Memory& memory,
                                  const emu::Options& options) {
  return emu::launch<ForwardKernel<kGeneral.config>>(grid, params, memory, options);
}

}  // namespace

const std::vector<EmulatedForward>& emulated_forwards() {
  static const std::vector<EmulatedForward> kernels = {emulated_forward<2>(), {&kGeneral, launch_general}};
  return kernels;
}

}  // namespace flashfit::emulated
