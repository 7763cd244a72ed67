// Kernels over wgmma, compiled from a copy of the sources with one defect: some that have room for their output beside
// Q, with softcap, ALiBi and a bias, and one that has not and copies heads from a sector's start on.
#include "proof/emulated/combine_kernels.cuh"
#include "proof/emulated/shard.cuh"

namespace flashfit::emulated {
namespace {

constexpr ForwardVariant kApart{forward_table::general(forward_table::wgmma(DType::kF16, 64, 64, 8, 64)),
                                forward_table::kHopper};
constexpr ForwardVariant kFromDiagonal{forward_table::alibi(forward_table::wgmma(DType::kF16, 64, 64, 8, 64)),
                                       forward_table::kHopper};
constexpr ForwardVariant kBiased{forward_table::biased(forward_table::wgmma(DType::kF16, 64, 64, 8, 64)),
                                 forward_table::kHopper};
constexpr ForwardVariant kInTurns{forward_table::wgmma(DType::kBF16, 224, 224, 8, 64), forward_table::kHopper};

}  // namespace

const std::vector<EmulatedKernel>& emulated_forwards() {
  static const std::vector<EmulatedKernel> kernels = {
      emulated_forward<kApart.config>(kApart), emulated_forward<kFromDiagonal.config>(kFromDiagonal),
      emulated_forward<kBiased.config>(kBiased), emulated_forward<kInTurns.config>(kInTurns)};
  return kernels;
}

const std::vector<EmulatedKernel>& emulated_combines() {
  static const std::vector<EmulatedKernel> kernels = combine_instances();
  return kernels;
}

}  // namespace flashfit::emulated
