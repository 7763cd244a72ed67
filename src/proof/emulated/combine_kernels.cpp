#include "proof/emulated/combine_kernels.cuh"

#include "proof/emulated/shards.hpp"

namespace flashfit::emulated {

std::vector<EmulatedKernel> make_combines() { return combine_instances(); }

}  // namespace flashfit::emulated
