#pragma once
// Two grids, of which the second may start before the first has ended.
#include "kernels/arch/arch.hpp"

namespace flashfit::testing {

/// y[i] = x[i] + 1
struct FirstKernel {
  static constexpr int kThreads = 64, kMinBlocks = 1;
  struct Params {
    const float* x;
    float* y;
  };
  struct Shared {};

  static void run(const Params& p) {
    arch::launch_dependents();
    const int64 i = int64(arch::block().x) * kThreads + arch::thread();
    arch::store_if(true, p.y, i, arch::load(p.x, i) + 1);
  }
};

/// z[i] = w[i] y[i], where the first grid makes y.
struct SecondKernel {
  static constexpr int kThreads = 64, kMinBlocks = 1;
  struct Params {
    const float *w, *y;
    float* z;
  };
  struct Shared {};

  static void run(const Params& p) {
    const int64 i = int64(arch::block().x) * kThreads + arch::thread();
    const float w = arch::load(p.w, i);  // not of the first grid
    arch::grid_dependency_wait();
    arch::store_if(true, p.z, i, w * arch::load(p.y, i));
  }
};

}  // namespace flashfit::testing
