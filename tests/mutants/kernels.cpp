// Two rows of the table, compiled from a copy of the sources with one defect:
// fp16 with tall tiles that holds Q in registers, and bf16's largest head, which does not.
#include "emulated/shard.cuh"

namespace flashfit::emulated {

const std::vector<EmulatedForward>& emulated_forwards() {
  static const std::vector<EmulatedForward> kernels = {emulated_forward<2>(), emulated_forward<13>()};
  return kernels;
}

}  // namespace flashfit::emulated
