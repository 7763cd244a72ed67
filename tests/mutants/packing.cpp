// A small kernel that packs heads, compiled from a copy of the sources with one defect.
#include "proof/emulated/combine_kernels.cuh"
#include "proof/emulated/shard.cuh"

namespace flashfit::emulated {
namespace {

constexpr ForwardVariant kPacking{forward_table::packed(forward_table::mma(DType::kF16, 64, 32, 32, 2, 1)),
                                  forward_table::kAmpereOn};

}  // namespace

const std::vector<EmulatedKernel>& emulated_forwards() {
  static const std::vector<EmulatedKernel> kernels = {emulated_forward<kPacking.config>(kPacking)};
  return kernels;
}

const std::vector<EmulatedKernel>& emulated_combines() {
  static const std::vector<EmulatedKernel> kernels = combine_instances();
  return kernels;
}

}  // namespace flashfit::emulated
