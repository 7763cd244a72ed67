#include <algorithm>
#include <utility>

#include "emulated/shards.hpp"

namespace flashfit::emulated {

const std::vector<EmulatedForward>& emulated_forwards() {
  static const std::vector<EmulatedForward> all = [] {
    std::vector<EmulatedForward> kernels;
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (append_shard<I>(kernels), ...);
    }(std::make_integer_sequence<int, kShards>{});
    std::sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) { return a.variant < b.variant; });
    return kernels;
  }();
  return all;
}

}  // namespace flashfit::emulated
