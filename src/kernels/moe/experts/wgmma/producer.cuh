#pragma once
// The producer thread: it takes tiles, and has TMA copy slices of weights, and of the expert's rows if they lie in
// order, as far ahead as there are stages.
#include "kernels/arch/arch.hpp"
#include "kernels/arch/steps.hpp"
#include "kernels/moe/experts/wgmma/params.hpp"
#include "kernels/moe/experts/wgmma/phase_news.cuh"
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
  /// So many slices before the end of a tile, the next tile is taken from the counter, and its entry in the list of
  /// tiles is loaded: a microsecond hides either latency. If tiles were taken earlier, they would not go to the block
  /// that is free first.
  static constexpr int kTake = 6, kLook = 3;

  WgmmaExpertsProducer(const Params& p, Shared& s)
      : params_(p), p_(p.product), s_(s), slices_((p.product.depth + C.depth - 1) / C.depth), at_(0), tiles_(0) {}

  void run() {
    ExpertsWorks<C> works(params_);
    const int take = slices_ > kTake ? slices_ - kTake : 0, look = slices_ > kLook ? slices_ - kLook : 0;
    // Copies of the first slices of weights are issued before the step before this one has ended: it writes only rows.
    ExpertsPlace place = known(works.next());
    int begun = place.rows == 0 ? 0 : slices_ < C.stages ? slices_ : C.stages;
    for (int i = 0; i < begun; ++i) begin(place, i, i);
    arch::wait_for_step_before();
    ExpertsPhaseNews<C> news(params_, s_);
    for (; place.rows != 0; place = known(works.next()), begun = 0) {
      news.begin_tile(works.phase(), at_);
      for (int i = 0; i < slices_; ++i, ++at_) {
        if (i >= begun) begin(place, i, at_);
        news.stage_emptied(at_);
        if (params_.gathers == 0) copy_rows(place, i * C.depth, at_ % C.stages);
        if (i == take) works.take();
        if (i == look) works.look();
      }
    }
    end();
    news.end(at_);
  }

  /// The tile, of which the warps that gather now know, too; or none.
  ExpertsPlace known(const ExpertsPlace& place) {
    if (params_.gathers == 0) return place;
    const int at = tiles_ % 2;
    arch::mbarrier_wait(s_.heard[at], tiles_ / 2 % 2 ^ 1);
    arch::store_shared(s_.to_gather, at, place);
    arch::mbarrier_arrive(s_.known[at]);
    ++tiles_;
    return place;
  }

  /// Slice i of a tile, the n-th of all: waits for its stage, and issues the copies of its weights.
  void begin(const ExpertsPlace& place, int i, int n) {
    const int stage = wait(n);
    if (i == 0) arch::store_shared(s_.places, stage, place);
    arch::mbarrier_arrive_expect_tx(s_.full[stage],
                                    int(sizeof s_.w[stage]) + (params_.gathers == 0 ? place.steps() * kStepBytes : 0));
    copy_weights(place, i * C.depth, stage);
  }

  /// A stage without a slice, which tells the consumers that no tile is left.
  void end() {
    const int stage = wait(at_);
    arch::store_shared(s_.places, stage, ExpertsPlace{});
    arch::mbarrier_arrive(s_.full[stage]);
  }

  /// Waits until the stage of the n-th slice is empty.
  int wait(int n) {
    const int stage = n % C.stages;
    arch::mbarrier_wait(s_.empty[stage], n / C.stages % 2 ^ 1);
    return stage;
  }

  /// Two runs of 64 outputs for each warpgroup: of gate and of up, or one after the other.
  void copy_weights(const ExpertsPlace& place, int k, int stage) {
    if constexpr (Shared::kRuns == 1) return copy_runs(place, k, stage);
    const bool apart = p_.paired != 0 && !(C.transposed && p_.alternates());
#pragma unroll
    for (int i = 0; i < 2 * Shared::kGroups; ++i) {
      const int up = apart ? i % 2 : 0, run = apart ? i / 2 : i, runs = apart ? Shared::kGroups : 2 * Shared::kGroups;
      const int output = (place.column * runs + run) * 64;
      arch::tma_load(s_.w[stage][i].data, 0, params_.weights,
                     {C.transposed ? output : k, C.transposed ? k : output, up, place.expert}, s_.full[stage]);
    }
  }

  /// One run for each warpgroup: 64 outputs, or 8 of gate, the same of up, the next 8 of gate, ...
  void copy_runs(const ExpertsPlace& place, int k, int stage) {
#pragma unroll
    for (int i = 0; i < Shared::kGroups; ++i) {
      const int run = place.column * Shared::kGroups + i;
      if constexpr (C.transposed)
        arch::tma_load(s_.w[stage][i].data, 0, params_.weights, {run * 64, k, 0, place.expert}, s_.full[stage]);
      else
        arch::tma_load(s_.w[stage][i].data, 0, params_.weights,
                       {k, p_.paired != 0 ? 0 : run * 64, 0, p_.paired != 0 ? run * 4 : 0, place.expert},
                       s_.full[stage]);
    }
  }

  /// As many rows as the consumers multiply. The last ones may be the next expert's: their results are not stored.
  void copy_rows(const ExpertsPlace& place, int k, int stage) {
    for (int i = 0; i < place.steps(); ++i)
      arch::tma_load(s_.a[stage].data, i * kExpertsStep * TileA::kPanel, params_.rows,
                     {k, place.first_row + i * kExpertsStep}, s_.full[stage]);
  }

  static constexpr int kStepBytes = kExpertsStep * C.depth * int(sizeof(T));

  const Params& params_;
  const ExpertsProductParams& p_;
  Shared& s_;
  const int slices_;  // of a tile
  int at_;            // slices so far
  int tiles_;         // of which the warps that gather know
};

}  // namespace flashfit
