#pragma once
// The warps that gather: they copy the rows of a tile's tokens straight into the ring's stages, 16 bytes a lane, beside
// the producer thread, whose TMA copies what lies in order alone. A stage is full when all of their copies have landed,
// too; consumers order these before wgmma by a fence of their own.
#include "kernels/arch/arch.hpp"
#include "kernels/arch/fragments.hpp"
#include "kernels/moe/experts/wgmma/params.hpp"
#include "kernels/moe/experts/wgmma/shared.cuh"

namespace flashfit {

template <ExpertsProductConfig C>
class ExpertsRowGatherer {
  using Params = ExpertsProductParams;
  using Shared = WgmmaExpertsShared<C>;
  using T = Element<C.dtype>;
  using TileA = typename Shared::TileA;

 public:
  /// By all lanes of a warp, which is the n-th of those that gather.
  static void run(const WgmmaExpertsParams& p, Shared& s, int n) { ExpertsRowGatherer(p.product, s, n).run(); }

 private:
  static constexpr int kWarps = Shared::kIdleWarps;
  /// Steps of rows that a warp copies of a full tile: step `warp`, `warp` + kWarps, and so on.
  static constexpr int kSteps = (C.tile_rows / kExpertsStep + kWarps - 1) / kWarps;
  /// Eight lanes copy 128 bytes of a row.
  static constexpr int kRowsAtOnce = 4, kCopies = kExpertsStep / kRowsAtOnce;

  ExpertsRowGatherer(const Params& p, Shared& s, int warp)
      : p_(p), s_(s), warp_(warp), row_(arch::lane() / 8), column_(arch::lane() % 8 * 8), at_(0) {}

  void run() {
    for (int tile = 0;; ++tile) {
      const ExpertsPlace place = next(tile);
      if (place.rows == 0) return end();
      copy(place);
    }
  }

  ExpertsPlace next(int tile) {
    const int at = tile % 2;
    arch::mbarrier_wait(s_.known[at], tile / 2 % 2);
    const ExpertsPlace place = arch::load_shared(s_.to_gather, at);
    arch::sync_warp();
    if (arch::lane() == 0) arch::mbarrier_arrive(s_.heard[at]);
    return place;
  }

  /// A slice's copies are issued at once, each by one addition: whatever else stands between them, such as a shuffle
  /// that tells a row's place, takes longer than the products.
  void copy(const ExpertsPlace& place) {
    const int first = warp_ * kExpertsStep + row_, left = place.rows - first;  // the lane's rows
    uint32 rows[kSteps][kCopies];                                              // where they lie, in units of 16 bytes
#pragma unroll
    for (int i = 0; i < kSteps; ++i)
#pragma unroll
      for (int j = 0; j < kCopies; ++j) {
        rows[i][j] = 0;
        if (down(i, j) < left) {
          const int choice = arch::load(p_.choices, place.first_row + first + down(i, j));
          rows[i][j] = uint32(p_.top_k.quotient(choice)) * uint32(p_.a_row / 8);
        }
      }
    const int steps = place.steps() - warp_;
    const T* g_a = static_cast<const T*>(p_.a) + column_;
    for (int k = column_; k < column_ + p_.depth; k += C.depth, g_a += C.depth, ++at_) {
      const int stage = wait();
      const bool inside = k < p_.depth;
#pragma unroll
      for (int i = 0; i < kSteps; ++i) {
        if (i * kWarps >= steps) break;
#pragma unroll
        for (int j = 0; j < kCopies; ++j)
          arch::cp_async_16_of_line(s_.a[stage].data, place_of(i, j), g_a, int64{rows[i][j]} * 8,
                                    inside && down(i, j) < left);
      }
      arch::cp_async_mbarrier_arrive_noinc(s_.full[stage]);
    }
  }

  /// The stage that says that no tile is left has no copies to wait for.
  void end() {
    const int stage = wait();
    arch::sync_warp();
    if (arch::lane() == 0) arch::mbarrier_arrive(s_.full[stage], 32);
  }

  int wait() {
    const int stage = at_ % C.stages;
    arch::mbarrier_wait(s_.empty[stage], at_ / C.stages % 2 ^ 1);
    return stage;
  }

  /// From a lane's first row to the one of which it makes the j-th copy of its warp's i-th step.
  static constexpr int down(int i, int j) { return i * kWarps * kExpertsStep + j * kRowsAtOnce; }
  /// Where that copy goes.
  int place_of(int i, int j) const {
    const int of_pattern = j * kRowsAtOnce % 8;  // eight rows are the swizzle's pattern
    return TileA::offset(row_ + of_pattern, column_) + (warp_ * kExpertsStep + down(i, j) - of_pattern) * TileA::kPanel;
  }

  const Params& p_;
  Shared& s_;
  const int warp_, row_, column_;
  int at_;  // slices so far
};

}  // namespace flashfit
