// The kernels that combine parts of keys, compiled from a copy of the sources with one defect. Exit 0: all is right; 1:
// the first defect found, in one line.
#include <cstdio>

#include "kernels/attention/forward/emulated.hpp"
#include "proof/emulated/combine_kernels.cuh"

namespace flashfit::emulated {

const std::vector<EmulatedKernel>& emulated_combines() {
  static const std::vector<EmulatedKernel> kernels = combine_instances();
  return kernels;
}

}  // namespace flashfit::emulated

int main() {
  for (const auto& options : flashfit::testing::schedules()) {
    const std::string defect = flashfit::testing::combine_defect(options);
    if (defect.empty()) continue;
    std::puts(defect.c_str());
    return 1;
  }
  std::puts("no defect");
  return 0;
}
