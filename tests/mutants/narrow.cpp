// Kernels over wgmma of head_dim 32, compiled from a copy of the sources with one defect: with three warpgroups, with
// packed heads, and of whole heads whose key tiles are no multiple of their rows' blocks.
#include "proof/emulated/combine_kernels.cuh"
#include "proof/emulated/shard.cuh"

namespace flashfit::emulated {
namespace {

constexpr ForwardVariant kThree{forward_table::wgmma(DType::kF16, 32, 32, 12, 128, 3), forward_table::kHopper};
constexpr ForwardVariant kPacked{forward_table::packed(forward_table::wgmma(DType::kBF16, 32, 32, 8, 128, 3)),
                                 forward_table::kHopper};
constexpr ForwardVariant kHeads{forward_table::wgmma(DType::kBF16, 32, 32, 16, 80, 7), forward_table::kHopper};

}  // namespace

const std::vector<EmulatedKernel>& emulated_forwards() {
  static const std::vector<EmulatedKernel> kernels = {emulated_forward<kThree.config>(kThree),
                                                      emulated_forward<kPacked.config>(kPacked),
                                                      emulated_forward<kHeads.config>(kHeads)};
  return kernels;
}

const std::vector<EmulatedKernel>& emulated_combines() {
  static const std::vector<EmulatedKernel> kernels = combine_instances();
  return kernels;
}

}  // namespace flashfit::emulated
