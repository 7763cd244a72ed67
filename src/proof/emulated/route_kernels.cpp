#include "proof/emulated/route_kernels.cuh"

namespace flashfit::emulated {

const std::vector<EmulatedKernel>& emulated_routes() {
  static const std::vector<EmulatedKernel> all = [] {
    std::vector<EmulatedKernel> kernels;
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (kernels.push_back(emulated_route<kRouteVariants[I].config>(kRouteVariants[I])), ...);
    }(std::make_integer_sequence<int, static_cast<int>(kRouteVariants.size())>{});
    return kernels;
  }();
  return all;
}

}  // namespace flashfit::emulated
