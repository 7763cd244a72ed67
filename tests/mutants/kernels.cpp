// Three kernels, compiled from a copy of the sources with one defect: the table's variant of fp16 with tall tiles,
// which holds Q in registers and makes weights early; a general one of bf16, which does neither, so small that it has
// many tiles of few keys: its warps share rows, each with half of V's columns; and a small one that trusts its bases.
#include "proof/emulated/combine_kernels.cuh"
#include "proof/emulated/shard.cuh"

namespace flashfit::emulated {
namespace {

constexpr ForwardVariant kGeneral{forward_table::general(forward_table::mma(DType::kBF16, 128, 32, 16, 4, 1), 2),
                                  forward_table::kAmpereOn};

constexpr ForwardVariant kTrusting{forward_table::trusting(forward_table::mma(DType::kBF16, 64, 64, 32, 4, 1)),
                                   forward_table::kAmpereOn};

}  // namespace

const std::vector<EmulatedKernel>& emulated_forwards() {
  static const std::vector<EmulatedKernel> kernels = {emulated_forward<kForwardVariants[2].config>(kForwardVariants[2]),
                                                      emulated_forward<kGeneral.config>(kGeneral),
                                                      emulated_forward<kTrusting.config>(kTrusting)};
  return kernels;
}

const std::vector<EmulatedKernel>& emulated_combines() {
  static const std::vector<EmulatedKernel> kernels = combine_instances();
  return kernels;
}

}  // namespace flashfit::emulated
