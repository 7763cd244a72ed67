#pragma once
// A consumer warpgroup. Two share a tile, and each computes twice 64 of its outputs: of gate and of up, or without a
// gate the next 64. Or three share a tile, and each computes 64 outputs, in which 8 of gate and 8 of up may alternate.
#include "kernels/arch/arch.hpp"
#include "kernels/layout/fragment.hpp"
#include "kernels/moe/experts/activation.cuh"
#include "kernels/moe/experts/wgmma/alternating.cuh"
#include "kernels/moe/experts/wgmma/params.hpp"
#include "kernels/moe/experts/wgmma/shared.cuh"
#include "kernels/moe/experts/wgmma/works.cuh"

namespace flashfit {

template <ExpertsProductConfig C>
class WgmmaExpertsConsumer {
  using Params = WgmmaExpertsParams;
  using Shared = WgmmaExpertsShared<C>;
  using T = Element<C.dtype>;
  using TileW = typename Shared::TileW;
  using TileA = typename Shared::TileA;
  using TileOut = typename Shared::TileOut;
  using Sums = float[C.tile_rows / 2];  ///< a thread's accumulators of 64 outputs; fewer rows use the first ones
  /// Where a thread's 16 bytes of a row go, and how far it is to the next row.
  struct Leaving {
    T* to;
    int64 each;
  };

 public:
  static void run(const Params& p, Shared& s, int group) { WgmmaExpertsConsumer(p, s, group).run(); }

 private:
  /// Ping-pong: a warpgroup begins so many slices after the one before it, and stays behind by as many. While one is in
  /// its epilogue, the others have the tensor cores to themselves. Each slice more would leave one less in flight.
  static constexpr int kLead = 1;
  /// Named barriers: 1 + group for the epilogue; then, for each warpgroup but the first, that it may begin.
  static constexpr int kGroups = Shared::kGroups, kBegin = kGroups;
  /// Gate and up of a feature are rows of one m64, eight apart (producer.cuh), or of two.
  static constexpr int kRuns = Shared::kRuns;

  WgmmaExpertsConsumer(const Params& p, Shared& s, int group)
      : p_(p.product),
        s_(s),
        group_(group),
        alternates_(C.transposed && p.product.alternates()),
        gathered_(p.gathers != 0),
        at_(0) {}

  void run() {
    for (;;) {
      const ExpertsPlace place = next();
      if (place.rows == 0) return release(at_);  // all tiles before are stored
      if (leads() && group_ > 0 && at_ == 0) arch::named_barrier_sync(kBegin + group_, 256);
      if constexpr (kRuns == 1) {
        if ((place.column * kGroups + group_) * (p_.paired != 0 ? 32 : 64) >= p_.outputs) {
          pass();
          continue;
        }
      }
      // Zeros that nobody reads: without them, the compiler keeps all accumulators alive from one tile to the next.
      Sums lo = {}, hi = {};
      multiply<C.tile_rows / kExpertsStep>(lo, hi, place.steps());
      if constexpr (C.transposed && kRuns == 2)
        if (alternates_) gather_pairs(lo, hi, place.rows);
      put(place, lo, hi);
    }
  }

  /// The next tile: the same in all lanes, for the compiler too.
  ExpertsPlace next() {
    const int stage = at_ % C.stages;
    arch::mbarrier_wait(s_.full[stage], at_ / C.stages % 2);
    const ExpertsPlace place = arch::load_shared(s_.places, stage);
    return {.expert = arch::shuffle(place.expert, 0),
            .first_row = arch::shuffle(place.first_row, 0),
            .rows = arch::shuffle(place.rows, 0),
            .column = arch::shuffle(place.column, 0)};
  }

  bool leads() const { return p_.depth > kLead * C.depth; }

  /// A product of `steps` steps of rows: wgmma takes their number as a constant.
  template <int kMost>
  void multiply(Sums& lo, Sums& hi, int steps) {
    if constexpr (kMost > 1)
      if (steps < kMost) return multiply<kMost - 1>(lo, hi, steps);
    constexpr int kHalf = kMost * kExpertsStep / 2;
    multiply_rows(reinterpret_cast<float(&)[kHalf]>(lo), reinterpret_cast<float(&)[kHalf]>(hi));
  }

  template <int Half>
  void multiply_rows(float (&lo)[Half], float (&hi)[Half]) {
    if constexpr (kRuns == 2)
      arch::wgmma_fence(lo, hi);
    else
      arch::wgmma_fence(lo);
    for (int k = 0; k < p_.depth; k += C.depth, ++at_) {
      const int stage = at_ % C.stages;
      arch::mbarrier_wait(s_.full[stage], at_ / C.stages % 2);
      if (gathered_) arch::fence_proxy_async();  // what threads copied
      arch::wgmma_fence();
      const uint64 w = weights_of(s_.w[stage][kRuns * group_]),
                   w2 = weights_of(s_.w[stage][kRuns * group_ + kRuns - 1]);
      const uint64 a = encode(TileA::k_major(arch::shared_address(s_.a[stage].data), 0, 0));
#pragma unroll
      for (int i = 0; i < C.depth; i += 16) {
        constexpr Major kMajor = C.transposed ? Major::kMN : Major::kK;
        const uint64 rows = TileA::moved(a, 0, i);
        arch::wgmma_m64k16<T, Major::kK, kMajor>(lo, at_depth(w, i), rows, k + i != 0);
        if constexpr (kRuns == 2) arch::wgmma_m64k16<T, Major::kK, kMajor>(hi, at_depth(w2, i), rows, k + i != 0);
      }
      arch::wgmma_commit();
      let_next_group_begin();
      arch::wgmma_wait<1>();
      if (k > 0) release(at_ - 1);
    }
    if constexpr (kRuns == 2)
      arch::wgmma_wait<0>(lo, hi);
    else
      arch::wgmma_wait<0>(lo);
    release(at_ - 1);
  }
  void let_next_group_begin() {
    if (leads() && group_ + 1 < kGroups && at_ == kLead) arch::named_barrier_arrive(kBegin + group_ + 1, 256);
  }

  /// Releases, unread, the slices of a tile in which the warpgroup has no outputs.
  void pass() {
    for (int k = 0; k < p_.depth; k += C.depth, ++at_) {
      arch::mbarrier_wait(s_.full[at_ % C.stages], at_ / C.stages % 2);
      let_next_group_begin();
      release(at_);
    }
  }

  /// 64 outputs' weights of a slice as wgmma's m, and the same from a depth on.
  static uint64 weights_of(const TileW& s_w) {
    const uint32 address = arch::shared_address(s_w.data);
    if constexpr (C.transposed)
      return encode(TileW::mn_major(address, 0, 0));
    else
      return encode(TileW::k_major(address, 0, 0));
  }
  static uint64 at_depth(uint64 w, int k) { return C.transposed ? TileW::moved(w, k, 0) : TileW::moved(w, 0, k); }

  /// The warp has read the n-th slice for the last time.
  void release(int n) {
    arch::sync_warp();
    if (arch::lane() == 0) arch::mbarrier_arrive(s_.empty[n % C.stages]);
  }

  /// Which of 64 outputs element i of a thread's sums is.
  int output_of(int thread, int i) const {
    if constexpr (C.transposed && kRuns == 2)
      if (alternates_) return AlternatingMap::row(thread, i);
    return WgmmaAccumulatorMap::row(thread, i);
  }
  /// Which of 32 features whose gate and up are rows of one m64.
  static int feature_of(int thread) {
    return C.transposed ? AlternatingMap::row(thread, 0) : thread / 32 * 8 + thread % 32 / 4;
  }
  /// Where the 8 outputs of a warp's lanes go that are `second`, 0 or 8, rows of m further on.
  int first_column(int thread, int second) const {
    if constexpr (C.transposed && kRuns == 2)
      if (alternates_) return thread / 32 * 8 + second * 4;
    return thread / 32 * 16 + second;
  }

  /// The epilogue: the tile's results to global memory.
  void put(const ExpertsPlace& place, const Sums& lo, const Sums& hi) {
    with_activation(p_, [&](auto activate) {
      if constexpr (activate.kOften)
        if (p_.bias == nullptr && p_.weights == nullptr) return put_activated<false>(place, lo, hi, activate);
      put_activated<true>(place, lo, hi, activate);
    });
  }

  /// Also z, the activation's input, if that is kept. Without a gate the two runs of 64 outputs are stored one after
  /// the other.
  template <bool Scales, class Activate>
  void put_activated(const ExpertsPlace& place, const Sums& lo, const Sums& hi, const Activate& activate) {
    constexpr bool kKeeps = C.keeps && Activate::kActivates;
    const int first = (place.column * Shared::kGroups + group_) * (Activate::kGated ? 32 : 64) * kRuns;
    if constexpr (Activate::kGated && kRuns == 1) {
      put_run<Scales, 1, 32>(place, first, [&](int i, const auto& scaled, auto& results) {
        float gate = lo[i], up = lo[i + 2];
        if constexpr (C.transposed) gather_pair(gate, up);
        results[0] = activate(scaled(gate, i, false), scaled(up, i, true));
      });
    } else if constexpr (Activate::kGated) {
      put_run<Scales, kKeeps ? 3 : 1>(place, first, [&](int i, const auto& scaled, auto& results) {
        const float gate = scaled(lo[i], i, false), up = scaled(hi[i], i, true);
        results[0] = activate(gate, up);
        if constexpr (kKeeps) results[1] = gate, results[2] = up;
      });
    } else {
      const auto put_one = [&](int from, const Sums& sums) {
        put_run<Scales, kKeeps ? 2 : 1>(place, from, [&](int i, const auto& scaled, auto& results) {
          const float sum = scaled(sums[i], i, false);
          results[0] = activate(sum);
          if constexpr (kKeeps) results[1] = sum;
        });
      };
      put_one(first, lo);
      if constexpr (kRuns == 2) put_one(first + 64, hi);
    }
  }

  /// Stores `Outputs` outputs from `first` on: 64, or 32 whose gate and up are rows of one m64. They go through the
  /// warpgroup's epilogue buffer, as many rows at once as fit: a thread's accumulators are of columns, and it stores 16
  /// bytes of a row.
  /// N: results of each element: what the activation gives; then its inputs, gate before up.
  /// result(i, scaled, results) gives those of element i, whose sums become products by scaled(sum, i, of up).
  template <bool Scales, int N, int Outputs = 64, class Result>
  void put_run(const ExpertsPlace& place, int first, Result result) {
    using Out = SwizzledTile<T, TileOut::kRows * 64 / Outputs, Outputs>;
    constexpr bool kPairs = Outputs == 32;
    constexpr int kStep = kPairs ? 32 : 16;  // rows of a stmatrix
    constexpr int kRows = Out::kRows / N / kStep * kStep;
    constexpr int kAtOnce = 1024 / Outputs;  // rows that the warpgroup stores
    static_assert(kRows > 0 && C.tile_rows % kRows == 0 && kRows % kAtOnce == 0);
    TileOut& s_out = s_.out[group_];
    const int lane = arch::lane(), thread = arch::thread() % 128;
    float bias[2] = {}, up_bias[2] = {};
    if constexpr (Scales) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int output = first + (kPairs ? feature_of(thread) : output_of(thread, 2 * h));
        bias[h] = bias_of(place, output, 0);
        up_bias[h] = p_.paired != 0 ? bias_of(place, output, p_.bias_up) : 0.f;
      }
    }
    // The lane gives the address of 8 outputs: those of the first or the second rows of its warp's lanes.
    const auto to = arch::in_one_register(
        s_out.data,
        kPairs ? Out::offset(lane, thread / 32 * 8)
               : Out::offset(LdmatrixMap::right_row(lane), first_column(thread, LdmatrixMap::right_col(lane))));
    const int column = thread % (Outputs / 8) * 8, row = thread / (Outputs / 8);
    const auto from = arch::in_one_register(s_out.data, Out::offset(row, column));
    const bool inside = first + column < p_.outputs;
    Leaving leaving[N];
#pragma unroll
    for (int n = 0; n < N; ++n) {
      leaving[n] = n == 0 ? to_out(place, row) : to_z(place, row, n - 1);
      leaving[n].to += first + column;
    }
#pragma unroll
    for (int begin = 0; begin < C.tile_rows; begin += kRows) {
      if (begin >= place.rows) break;
      arch::named_barrier_sync(1 + group_, 128);  // the rows before have been read
#pragma unroll
      for (int r = begin; r < begin + kRows; r += kStep) {
        float weights[kStep / 8][2];  // of the n8 tiles' rows
        if constexpr (Scales) read_weights(weights, place, r);
        uint32 words[N][4];
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const int tile = kPairs ? q : q / 2, i = r / 2 + tile * 4 + (kPairs ? 0 : q % 2 * 2);
          const auto scaled = [&](float sum, int element, bool up) {
            if constexpr (!Scales) return sum;
            return arch::multiply_add(sum, weights[tile][element % 2], (up ? up_bias : bias)[element / 2 % 2]);
          };
          float one[N], next[N];
          result(i, scaled, one);
          result(i + 1, scaled, next);
#pragma unroll
          for (int n = 0; n < N; ++n) words[n][q] = arch::pack<T>(one[n], next[n]);
        }
#pragma unroll
        for (int n = 0; n < N; ++n)
          arch::stmatrix_x4_trans(to.s_base, Out::down(to.s_offset, n * kRows + r - begin), words[n]);
      }
      arch::named_barrier_sync(1 + group_, 128);
      Bytes16 outputs[N][kRows / kAtOnce];
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int r = 0; r < kRows; r += kAtOnce)
          outputs[n][r / kAtOnce] = arch::load_shared<Bytes16>(from.s_base, Out::down(from.s_offset, n * kRows + r));
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int r = 0; r < kRows; r += kAtOnce) {
          Bytes16& each = outputs[n][r / kAtOnce];
          if constexpr (C.transposed && kRuns == 1)
            each = kPairs ? in_order(each) : each;
          else if constexpr (C.transposed)
            if (alternates_) each = in_order(each);
          arch::store_if(inside && row + begin + r < place.rows, leaving[n].to, 0, each);
          leaving[n].to += kAtOnce * leaving[n].each;
        }
    }
  }

  /// The results' first row of a thread.
  Leaving to_out(const ExpertsPlace& place, int row) const {
    return {static_cast<T*>(p_.out) + int64{place.first_row + row} * p_.outputs, p_.outputs};
  }
  /// The same of gates, or of ups: each expert's rows follow one that is of no token.
  Leaving to_z(const ExpertsPlace& place, int row, int up) const {
    const int64 each = int64{p_.outputs} << (p_.paired != 0);
    return {static_cast<T*>(p_.z) + (place.first_row + place.expert + 1 + row) * each + up * int64{p_.outputs}, each};
  }

  /// What products of 16 rows from `first` on are multiplied by, this thread's of them.
  template <int Tiles>
  void read_weights(float (&weights)[Tiles][2], const ExpertsPlace& place, int first) const {
#pragma unroll
    for (int t = 0; t < Tiles; ++t) weights[t][0] = weights[t][1] = 1.f;
    if (p_.weights == nullptr) return;
#pragma unroll
    for (int t = 0; t < Tiles; ++t)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int row = first + WgmmaAccumulatorMap::col(arch::thread() % 128, 4 * t + i);
        if (row < place.rows) weights[t][i] = arch::load(p_.weights, arch::load(p_.choices, place.first_row + row));
      }
  }
  float bias_of(const ExpertsPlace& place, int output, int beside) const {
    if (p_.bias == nullptr || output >= p_.outputs) return 0.f;
    return arch::widen(arch::load(static_cast<const T*>(p_.bias),
                                  place.expert * p_.bias_expert + int64{output} * p_.bias_step + beside));
  }

  const ExpertsProductParams& p_;
  Shared& s_;
  const int group_;
  const bool alternates_, gathered_;
  int at_;  // slices so far
};

}  // namespace flashfit
