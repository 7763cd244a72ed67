// Two kernels over wgmma, compiled from a copy of the sources with one defect: one that has room for its output beside
// Q, with softcap, and one that has not.
#include "proof/emulated/shard.cuh"

namespace flashfit::emulated {
namespace {

constexpr ForwardVariant kApart{variant_rows::general(variant_rows::wgmma(DType::kF16, 64, 64, 8, 64)),
                                variant_rows::kHopper};
constexpr ForwardVariant kInTurns{variant_rows::wgmma(DType::kBF16, 256, 256, 8, 64), variant_rows::kHopper};

}  // namespace

const std::vector<EmulatedKernel>& emulated_forwards() {
  static const std::vector<EmulatedKernel> kernels = {emulated_forward<kApart.config>(kApart),
                                                      emulated_forward<kInTurns.config>(kInTurns)};
  return kernels;
}

}  // namespace flashfit::emulated
