#pragma once
// Fills a tensor as fill_on_host() does, to the bit.
#include "kernels/arch/arch.hpp"
#include "measure/kernel_params.hpp"
#include "measure/values.hpp"

namespace flashfit::measure {

template <class T>
struct Fill {
  static constexpr int kThreads = measure::kThreads, kMinBlocks = 1;
  using Params = FillParams;
  struct Shared {
    int none;
  };

  static void run(const Params& p) {
    T* const g_data = static_cast<T*>(p.data);
    const int64 step = int64(arch::grid().x) * kThreads;
    for (int64 i = int64(arch::block().x) * kThreads + arch::thread(); i < p.pairs; i += step) {
      const int64 element = 2 * i, d = element % p.dim, head_row = element / p.dim, head = head_row % p.heads;
      const int64 row = head_row / p.heads % p.rows, b = head_row / p.heads / p.rows;
      const auto number = [&](int next) {
        const float x = bell(p.key, uint64(element + next)) * p.scale;
        return p.tensor < 3 ? reference::planted(p.planted, p.tensor, x, row, p.rows, d + next) : x;
      };
      arch::store_if(true, g_data, b * p.batch_stride + row * p.row_stride + head * p.head_stride + d,
                     arch::pack<T>(number(0), number(1)));
    }
  }
};

}  // namespace flashfit::measure
