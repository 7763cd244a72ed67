// Two of the router's kernels, compiled from a copy of the sources with one defect, on their cases under every
// schedule. Exit 0: all right; 1: the first defect found, in one line.
#include <cstdio>

#include "proof/emu/schedules.hpp"
#include "proof/emulated/route_kernels.cuh"

namespace flashfit::testing {
namespace {

std::string first_defect() {
  using emulated::EmulatedKernel, emulated::emulated_route;
  const EmulatedKernel kernels[] = {emulated_route<kRouteVariants[0].config>(kRouteVariants[0]),
                                    emulated_route<kRouteVariants[7].config>(kRouteVariants[7])};
  for (const EmulatedKernel& kernel : kernels) {
    const RouteConfig& c = route_variant_of(kernel.variant).config;
    for (const reference::RouteCase& spec : reference::route_gpu_cases(c.dtype, c.experts))
      for (const emu::Options& options : schedules()) {
        reference::RouteData data = reference::make_data(spec);
        if (const auto ran = emulated::run(kernel, data, options); !ran) return "finding: " + ran.error().message;
        if (std::string defect = reference::defect_of(data); !defect.empty()) return "wrong " + defect;
      }
  }
  return {};
}

}  // namespace
}  // namespace flashfit::testing

int main() {
  const std::string defect = flashfit::testing::first_defect();
  std::puts(defect.empty() ? "no defect" : defect.c_str());
  return defect.empty() ? 0 : 1;
}
