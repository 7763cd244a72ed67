#pragma once
// The warpgroup that copies slices of weights, by TMA, and of the expert's rows, which it gathers 16 bytes a thread, as
// far ahead as there are slots.
#include "kernels/arch/arch.hpp"
#include "kernels/moe/experts/wgmma/params.hpp"
#include "kernels/moe/experts/wgmma/shared.cuh"
#include "kernels/moe/experts/wgmma/works.cuh"

namespace flashfit {

template <ExpertsProductConfig C>
class WgmmaExpertsProducer {
  using Params = WgmmaExpertsParams;
  using Shared = WgmmaExpertsShared<C>;
  using T = Element<C.dtype>;
  using TileA = typename Shared::TileA;

 public:
  static void run(const Params& p, Shared& s) { WgmmaExpertsProducer(p, s).run(); }

 private:
  static constexpr int kChunks = C.depth / 8, kAtOnce = Shared::kProducers / kChunks;
  static constexpr int kPasses = C.tile_rows / kAtOnce;
  static_assert(kAtOnce == 16, "a pass copies 16 rows, the step in which a tile's rows follow the expert's");

  WgmmaExpertsProducer(const Params& p, Shared& s)
      : map_(p.weights),
        p_(p.product),
        s_(s),
        row_(arch::thread() / kChunks),
        column_(arch::thread() % kChunks * 8),
        at_(0) {}

  void run() {
    const bool leads = arch::warp() == 0;
    ExpertsWorks<C> works(p_);
    ExpertsPlace place;
    while (works.next(place)) {
      find_rows(place);
      for (int k = 0; k < p_.depth; k += C.depth, ++at_) {
        arch::mbarrier_wait(s_.empty[at_ % C.stages], at_ / C.stages % 2 ^ 1);
        if (leads && arch::elect_one()) copy_weights(place, k);
        copy_rows(place, k);
        arch::cp_async_mbarrier_arrive_noinc(s_.full[at_ % C.stages]);
      }
    }
  }

  /// Where this thread's rows of the tile lie; -1: past the expert's last.
  void find_rows(const ExpertsPlace& place) {
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      const int r = row_ + i * kAtOnce;
      rows_[i] = r < place.rows ? place.first_row + r : -1;
      if (p_.choices != nullptr && rows_[i] >= 0) rows_[i] = p_.top_k.quotient(arch::load(p_.choices, rows_[i]));
    }
  }

  /// Two runs of 64 outputs for each warpgroup: of gate and of up, or one after the other.
  void copy_weights(const ExpertsPlace& place, int k) {
    const int slot = at_ % C.stages;
    arch::mbarrier_arrive_expect_tx(s_.full[slot], int(sizeof s_.w[slot]));
#pragma unroll
    for (int i = 0; i < 2 * Shared::kGroups; ++i) {
      const int up = p_.paired != 0 ? i % 2 : 0, run = p_.paired != 0 ? i / 2 : i;
      const int runs = p_.paired != 0 ? Shared::kGroups : 2 * Shared::kGroups;
      arch::tma_load(s_.w[slot][i].data, 0, map_, {k, (place.column * runs + run) * 64, up, place.expert},
                     s_.full[slot]);
    }
  }

  void copy_rows(const ExpertsPlace& place, int k) {
    T* const s_to = s_.a[at_ % C.stages].data;
    const T* const g_a = static_cast<const T*>(p_.a);
    const bool inside = k + column_ < p_.depth;
#pragma unroll
    for (int i = 0; i < kPasses; ++i)
      if (i * kAtOnce < place.rows)  // the consumers take as many rows, in steps of 16
        arch::cp_async_16(s_to, TileA::offset(row_, column_) + i * kAtOnce * TileA::kPanel, g_a,
                          (rows_[i] < 0 ? 0 : rows_[i] * p_.a_row) + k + column_, inside && rows_[i] >= 0);
  }

  const TensorMap& map_;
  const ExpertsProductParams& p_;
  Shared& s_;
  const int row_, column_;
  int rows_[kPasses];
  int at_;  // slices so far
};

}  // namespace flashfit
