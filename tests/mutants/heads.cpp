// Two kernels over wgmma whose blocks take whole heads, compiled from a copy of the sources with one defect: one whose
// rounds share a head's keys where these are few, and one with fewer slots.
#include "proof/emulated/combine_kernels.cuh"
#include "proof/emulated/shard.cuh"

namespace flashfit::emulated {
namespace {

constexpr ForwardVariant kKeeps{forward_table::wgmma(DType::kF16, 64, 64, 12, 64, 8), forward_table::kHopper};
constexpr ForwardVariant kCopies{forward_table::wgmma(DType::kBF16, 128, 128, 12, 64, 4), forward_table::kHopper};

}  // namespace

const std::vector<EmulatedKernel>& emulated_forwards() {
  static const std::vector<EmulatedKernel> kernels = {emulated_forward<kKeeps.config>(kKeeps),
                                                      emulated_forward<kCopies.config>(kCopies)};
  return kernels;
}

const std::vector<EmulatedKernel>& emulated_combines() {
  static const std::vector<EmulatedKernel> kernels = combine_instances();
  return kernels;
}

}  // namespace flashfit::emulated
