// Runs a few cases of each kernel of tensor copies and matrix instructions.
// Exit 0: all right; 1: the first defect found, in one line.
#include <cstdio>

#include "proof/emu/hopper/run_case.hpp"

namespace flashfit::testing {
namespace {

template <class Kernel>
std::string first_defect(const MatrixCase<Kernel>& c) {
  for (const emu::Schedule schedule : kSchedules)
    if (std::string defect = defect_of(c, schedule); !defect.empty()) return defect;
  return {};
}

template <class... Kernels>
std::string first_defect_of(const MatrixCase<Kernels>&... cases) {
  std::string defect;
  static_cast<void>(((defect = first_defect(cases)).empty() && ...));
  return defect;
}

std::string first_defect_of_all() {
  return first_defect_of(
      load_box<2, SwizzleMode::k64B, 32, 32, 1, 1>({48, -4}),
      store_box<false, 5, SwizzleMode::k64B, 32, 3, 2, 2, 3>({48, 7, 3, 2, 1}),
      turn_tile<SwizzleMode::k64B, false, false>(), product<f16, 64, 96, SwizzleMode::k64B, Major::kK, Major::kK>(),
      product<f16, 64, 48, SwizzleMode::k32B, Major::kMN, Major::kMN>(), two_groups<f16, 64>(), wgmma_probe<16>());
}

}  // namespace
}  // namespace flashfit::testing

int main() {
  const std::string defect = flashfit::testing::first_defect_of_all();
  std::puts(defect.empty() ? "no defect" : defect.c_str());
  return defect.empty() ? 0 : 1;
}
