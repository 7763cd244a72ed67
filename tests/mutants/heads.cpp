// Two kernels over wgmma whose blocks take whole heads, compiled from a copy of the sources with one defect: with many
// stages, and with few stages and one Q buffer.
#include "proof/emulated/combine_kernels.cuh"
#include "proof/emulated/shard.cuh"

namespace flashfit::emulated {
namespace {

constexpr ForwardVariant kMany{forward_table::wgmma(DType::kF16, 64, 64, 16, 64, 8), forward_table::kHopper};
constexpr ForwardVariant kFew{forward_table::wgmma(DType::kBF16, 128, 128, 12, 64, 5), forward_table::kHopper};

}  // namespace

const std::vector<EmulatedKernel>& emulated_forwards() {
  static const std::vector<EmulatedKernel> kernels = {emulated_forward<kMany.config>(kMany),
                                                      emulated_forward<kFew.config>(kFew)};
  return kernels;
}

const std::vector<EmulatedKernel>& emulated_combines() {
  static const std::vector<EmulatedKernel> kernels = combine_instances();
  return kernels;
}

}  // namespace flashfit::emulated
