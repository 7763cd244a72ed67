#include <algorithm>
#include <utility>

#include "proof/emulated/shards.hpp"

namespace flashfit::emulated {

const std::vector<EmulatedKernel>& emulated_forwards() {
  static const std::vector<EmulatedKernel> all = [] {
    std::vector<EmulatedKernel> kernels;
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (append_shard<I>(kernels), ...);
    }(std::make_integer_sequence<int, kShards>{});
    std::sort(kernels.begin(), kernels.end(),
              [](const auto& a, const auto& b) { return a.variant.form < b.variant.form; });
    return kernels;
  }();
  return all;
}

// Beside emulated_forwards(), for linkers that look into each library once: what runs either needs both.
const std::vector<EmulatedKernel>& emulated_combines() {
  static const std::vector<EmulatedKernel> all = make_combines();
  return all;
}

}  // namespace flashfit::emulated
