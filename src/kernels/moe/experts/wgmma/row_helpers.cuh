#pragma once
// What the consumer warps do until their first slice is there: they copy rows, 16 bytes a thread, and have more of them
// in flight than the copier's ring has room for. So the rows of the first tiles, which all blocks wait for, are there
// early. A block that waits for a row that no block has taken takes units itself, until it has taken that row: so none
// waits for a block that has not begun.
#include "kernels/arch/arch.hpp"
#include "kernels/moe/experts/wgmma/row_units.cuh"
#include "kernels/moe/experts/wgmma/shared.cuh"

namespace flashfit {

template <ExpertsProductConfig C>
class ExpertsRowHelpers {
  using Params = WgmmaExpertsParams;
  using Shared = WgmmaExpertsShared<C>;
  using T = Element<C.dtype>;
  static constexpr int kThreads = C.column_warps * 32;

 public:
  /// By all of them, before anything else.
  static void run(const Params& p, Shared& s) {
    const int thread = arch::thread() - (experts_product_threads(C) - kThreads);
    const ExpertsRowUnits units(p);
    for (;;) {
      if (thread == 0) take(units, s);
      arch::named_barrier_sync(kHelpers, kThreads);
      const ExpertsRowUnit unit{arch::load_shared(s.helpers_unit, 0), arch::load_shared(s.helpers_unit, 1)};
      if (unit.rows == 0) break;
      copy(p, unit, thread / 32);
      arch::named_barrier_sync(kHelpers, kThreads);
      if (thread == 0) tell_of_rows(p.copies, unit);
    }
    if (thread == 0) arch::mbarrier_arrive(s.helped);
  }

 private:
  static constexpr int kHelpers = 2 * Shared::kGroups;  // a named barrier: the consumers' own are all below it
  static constexpr int kAtOnce = 8;

  static void take(const ExpertsRowUnits& units, Shared& s) {
    ExpertsRowUnit unit{};
    if (!arch::mbarrier_test(s.full[0], 0)) unit = units.from(units.take());
    arch::store_shared(s.helpers_unit, 0, unit.first);
    arch::store_shared(s.helpers_unit, 1, unit.rows);
  }

  /// Of W warps, warp w copies the unit's rows w, w + W, w + 2 W and so on. Its lane i holds the choice of the i-th of
  /// these.
  static void copy(const Params& p, const ExpertsRowUnit& unit, int warp) {
    const T* const g_x = static_cast<const T*>(p.copies.x);
    T* const g_to = static_cast<T*>(p.copies.gathered);
    const int depth = p.product.depth, own = warp + arch::lane() * C.column_warps;
    const int choice = own < unit.rows ? arch::load(p.product.choices, unit.first + own) : 0;
    for (int i = 0; warp + i * C.column_warps < unit.rows; ++i) {
      const int64 from = int64{p.product.top_k.quotient(arch::shuffle(choice, i))} * p.copies.x_row;
      const int64 to = int64{unit.first + warp + i * C.column_warps} * depth;
      for (int column = arch::lane() * 8; column < depth; column += kAtOnce * 256) {
        Bytes16 x[kAtOnce];
#pragma unroll
        for (int j = 0; j < kAtOnce; ++j)
          if (column + j * 256 < depth) x[j] = arch::load<Bytes16>(g_x, from + column + j * 256);
#pragma unroll
        for (int j = 0; j < kAtOnce; ++j) arch::store_if(column + j * 256 < depth, g_to, to + column + j * 256, x[j]);
      }
    }
  }
};

}  // namespace flashfit
