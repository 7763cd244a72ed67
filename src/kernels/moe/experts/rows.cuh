#pragma once
// What comes before and after the experts' products: choices sorted by expert (sort.cuh), rows of x gathered in that
// order for a backward, and each token's sum
//   out[t] = sum over k of weight[t, k] y[row of (t, k)],
// in fp32, in the order of k, rounded once. Choices whose expert is not owned have no row and add 0. Without a sort,
// which one token does not need, choice i lies in row i.
// Each step may begin before the one before it has ended, and waits for that before it reads what that writes.
#include "kernels/arch/arch.hpp"
#include "kernels/arch/steps.hpp"
#include "kernels/moe/experts/ids.cuh"
#include "kernels/moe/experts/row_sum.cuh"
#include "kernels/moe/experts/sort.cuh"

namespace flashfit {

template <ExpertsRowsConfig C>
struct ExpertsRowsKernel {
  using Params = ExpertsRowsParams;
  using T = Element<C.dtype>;
  static_assert(C.dtype != DType::kF32 && arch::kHas<T>, "bf16 needs compute capability 8.0");
  using Shared = ExpertsSort::Shared;
  static_assert(sizeof(Shared) == experts_rows_shared_bytes());
  static constexpr int kThreads = kRowsThreads, kMinBlocks = 3;

  static void run(const Params& p) {
    if (p.step == ExpertsRowsStep::kSum) return sum(p);
    if (p.step == ExpertsRowsStep::kSumRest) return sum_rest(p);
    if (p.step == ExpertsRowsStep::kSumOne) return sum_one(p);
    if (p.step == ExpertsRowsStep::kGather) return gather(p);
    if (p.step == ExpertsRowsStep::kCount)
      ExpertsSort::count(p, arch::shared<Shared>());
    else if (p.step == ExpertsRowsStep::kTake)
      ExpertsSort::take(p, arch::shared<Shared>());
    else
      ExpertsSort::place(p, arch::shared<Shared>());
  }

 private:
  static constexpr int kAtOnce = 8;  // rows whose loads are in flight together

  /// Waits for the step before, and reads what p.sorted_before is about: before the wait where it says that this was
  /// there, else after it, since the kernel before the call may write it.
  template <class Read>
  static void read_and_wait(const Params& p, Read read) {
    const bool was_there = p.sorted_before != 0;
    if (!was_there) arch::wait_for_step_before();
    read();
    if (was_there) arch::wait_for_step_before();
  }

  static void gather(const Params& p) {
    const int64 token = arch::block().x, first = token * p.top_k;
    const T* const g_x = static_cast<const T*>(p.x) + token * p.x_row;
    T* const g_to = static_cast<T*>(p.gathered);
    arch::wait_for_step_before();
    arch::let_next_step_begin();
    for (int column = arch::thread() * 8; column < p.columns; column += kThreads * 8) {
      const Bytes16 x = arch::load<Bytes16>(g_x, column);
      for (int k = 0; k < p.top_k; ++k) {
        const int place = arch::load(p.places, first + k);
        arch::store_if(place >= 0, g_to, place * int64{p.columns} + column, x);
      }
    }
  }

  static void sum(const Params& p) {
    const int64 token = arch::block().x, first = token * p.top_k;
    Chosen chosen;
    read_and_wait(p, [&] { read(p, first, p.top_k, chosen); });
    const int own = arch::thread() * 8;
    for (int column = own; column < p.columns; column += kThreads * 8) {
      float total[8] = {};
      for (int k = 0; k < p.top_k; k += kAtOnce) {
        if (k > 0 || (column != own && p.top_k > kAtOnce)) read(p, first + k, p.top_k - k, chosen);
        add(p, chosen, column, total);
      }
      put(p, token, column, total);
    }
  }

  /// What the second product has not added up itself: the last phase, and of the others the units that no block has
  /// taken. A warp adds up one tile's outputs of a token at a time, the last tiles first.
  static void sum_rest(const Params& p) {
    arch::wait_for_step_before();
#pragma unroll 1
    for (int i = arch::warp(); i < p.sums_of_block; i += kRowsWarps) {
      const int from_last = p.sum_tokens.quotient(i), tile = (p.columns - 1) / kPhaseColumns - from_last;
      const int token = arch::block().x * p.sum_tokens.by + i - from_last * p.sum_tokens.by;
      const int phase = p.phases.columns.quotient(tile), at = (tile - phase * p.phases.columns.by) * kPhaseColumns;
      if (token >= p.units.tokens) continue;
      if (phase + 1 < p.phases.count && p.units.unit_of(token, at) < arch::load(p.units.taken, phase)) continue;
      sum_by_warp(p, token, tile * kPhaseColumns + arch::lane() * 8, choice_of_lane(p, p.places, token));
    }
  }

  /// Of one token, whose choices are not sorted. A warp adds up as many outputs as above.
  static void sum_one(const Params& p) {
    LanesChoice choice;
    read_and_wait(p, [&] {
      choice = choice_of_lane(p, p.ids, 0);
      const bool is_here = expert_of(uint32(choice.place), p.here) < uint32(p.here.owned);
      choice.place = is_here ? arch::lane() : -1;
    });
    const int tile = arch::block().x * kRowsWarps + arch::warp();
    sum_by_warp(p, 0, tile * kPhaseColumns + arch::lane() * 8, choice);
  }

  /// The choice that a lane knows of a token: where it lies, -1 for none, and its weight.
  struct LanesChoice {
    int place;
    float weight;
  };
  /// `of_choices`: places, or ids of choices that are not sorted; a lane without a choice has -1, which is no id.
  static LanesChoice choice_of_lane(const Params& p, const int* of_choices, int64 token) {
    const bool has = arch::lane() < p.top_k;
    const int place = has ? arch::load(of_choices, token * p.top_k + arch::lane()) : -1;
    const float weight = has && p.weights != nullptr ? arch::load(p.weights, token * p.top_k + arch::lane()) : 1.f;
    return {place, weight};
  }
  /// By all lanes of a warp, each of its column. Each knows a choice.
  static void sum_by_warp(const Params& p, int64 token, int column, const LanesChoice& choice) {
    const auto [place, weight] = choice;
    const bool inside = column < p.columns;
    float total[8] = {};
#pragma unroll 1
    for (int k = 0; k < p.top_k; k += kAtOnce) {
      Bytes16 y[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int at = arch::shuffle(place, k + i);
        if (at >= 0 && inside) y[i] = arch::load<Bytes16>(static_cast<const T*>(p.y), int64{at} * p.columns + column);
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const float by = arch::shuffle(weight, k + i);
        if (arch::shuffle(place, k + i) >= 0) add_row<T>(total, y[i], by);
      }
    }
    if (inside) put(p, token, column, total);
  }
  static void put(const Params& p, int64 token, int column, const float (&total)[8]) {
    arch::store_if(true, static_cast<T*>(p.out), token * p.out_row + column, rounded<T>(total));
  }

  /// Choices of a token: where each lies, -1 for none, and its weight.
  struct Chosen {
    int place[kAtOnce];
    float weight[kAtOnce];
  };
  /// The first kAtOnce of `left` choices from `first` on.
  static void read(const Params& p, int64 first, int left, Chosen& c) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      c.place[i] = i < left ? arch::load(p.places, first + i) : -1;
      c.weight[i] = i < left && p.weights != nullptr ? arch::load(p.weights, first + i) : 1.f;
    }
  }

  static void add(const Params& p, const Chosen& c, int column, float (&total)[8]) {
    const T* const g_y = static_cast<const T*>(p.y);
    Bytes16 y[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      if (c.place[i] >= 0) y[i] = arch::load<Bytes16>(g_y, int64{c.place[i]} * p.columns + column);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (c.place[i] < 0) continue;
      add_row<T>(total, y[i], c.weight[i]);
    }
  }
};

}  // namespace flashfit
