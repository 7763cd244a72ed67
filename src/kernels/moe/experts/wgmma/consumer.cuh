#pragma once
// A warpgroup that computes twice 64 of a tile's outputs: of gate and of up, or one after the other.
#include "kernels/arch/arch.hpp"
#include "kernels/arch/steps.hpp"
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
  using Sums = float[C.tile_rows / 2];  ///< of 64 outputs, this thread's; a tile of fewer rows uses the first ones
  /// Where a tile's rows go, and how far one is from the next. Found where they are needed: kept in registers, both
  /// would live as long as the sums.
  struct ToOut {
    const ExpertsProductParams& p;
    T* row(const ExpertsPlace& place, int i) const { return static_cast<T*>(p.out) + (place.first_row + i) * each(); }
    int64 each() const { return p.outputs; }
  };
  struct ToZ {
    const ExpertsProductParams& p;
    int beside;  ///< of ups, how far they are from the gates
    // Each expert's rows follow one that is of no token.
    T* row(const ExpertsPlace& place, int i) const {
      return static_cast<T*>(p.z) + (place.first_row + place.expert + 1 + i) * each() + beside;
    }
    int64 each() const { return int64{p.outputs} << (p.paired != 0); }
  };

 public:
  static void run(const Params& p, Shared& s, int group) { WgmmaExpertsConsumer(p, s, group).run(); }

 private:
  /// The second warpgroup begins so many slices after the first, and the ring lets it stay behind: while one activates
  /// and stores, the other has the tensor cores to itself. Each slice more is one less on its way.
  static constexpr int kLead = 1;
  static constexpr int kBegin = 1 + Shared::kGroups;  // named barriers: 1 + group for the way out

  WgmmaExpertsConsumer(const Params& p, Shared& s, int group)
      : p_(p.product),
        s_(s),
        group_(group),
        leads_(p.product.depth > kLead * C.depth),
        alternates_(C.transposed && p.product.alternates()),
        at_(0) {}

  void run() {
    arch::wait_for_step_before();  // which may still read what this one writes
    for (;;) {
      const ExpertsPlace place = next();
      if (place.rows == 0) return release(at_);  // whatever came before is stored
      if (leads_ && group_ == 1 && at_ == 0) arch::named_barrier_sync(kBegin, 256);
      // Zeros that nobody reads: without, the compiler takes all sums to be alive from one tile to the next.
      Sums lo = {}, hi = {};
      multiply<C.tile_rows / kExpertsStep>(lo, hi, place.steps());
      if constexpr (C.transposed)
        if (alternates_) gather_pairs(lo, hi, place.rows);
      put(place, lo, hi);
    }
  }

  /// The next tile: the same in all lanes, for the compiler too.
  ExpertsPlace next() {
    const int slot = at_ % C.stages;
    arch::mbarrier_wait(s_.full[slot], at_ / C.stages % 2);
    const ExpertsPlace place = arch::load_shared(s_.places, slot);
    return {.expert = arch::shuffle(place.expert, 0),
            .first_row = arch::shuffle(place.first_row, 0),
            .rows = arch::shuffle(place.rows, 0),
            .column = arch::shuffle(place.column, 0)};
  }

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
    arch::wgmma_fence(lo, hi);
    for (int k = 0; k < p_.depth; k += C.depth, ++at_) {
      const int slot = at_ % C.stages;
      arch::mbarrier_wait(s_.full[slot], at_ / C.stages % 2);
      arch::wgmma_fence();
      const uint64 w = weights_of(s_.w[slot][2 * group_]), w2 = weights_of(s_.w[slot][2 * group_ + 1]);
      const uint64 a = encode(TileA::k_major(arch::shared_address(s_.a[slot].data), 0, 0));
#pragma unroll
      for (int i = 0; i < C.depth; i += 16) {
        constexpr Major kMajor = C.transposed ? Major::kMN : Major::kK;
        const uint64 rows = TileA::moved(a, 0, i);
        arch::wgmma_m64k16<T, Major::kK, kMajor>(lo, at_depth(w, i), rows, k + i != 0);
        arch::wgmma_m64k16<T, Major::kK, kMajor>(hi, at_depth(w2, i), rows, k + i != 0);
      }
      arch::wgmma_commit();
      if (leads_ && group_ == 0 && at_ == kLead) arch::named_barrier_arrive(kBegin, 256);
      arch::wgmma_wait<1>();
      if (k > 0) release(at_ - 1);
    }
    arch::wgmma_wait<0>(lo, hi);
    release(at_ - 1);
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

  /// The warp has no further use for the slot of the n-th slice.
  void release(int n) {
    arch::sync_warp();
    if (arch::lane() == 0) arch::mbarrier_arrive(s_.empty[n % C.stages]);
  }

  /// Which of 64 outputs element i of a thread's sums is.
  int output_of(int thread, int i) const {
    if constexpr (C.transposed)
      if (alternates_) return AlternatingMap::row(thread, i);
    return WgmmaAccumulatorMap::row(thread, i);
  }
  /// Where the 8 outputs of a warp's lanes go that are `second`, 0 or 8, rows of m further on.
  int first_column(int thread, int second) const {
    if constexpr (C.transposed)
      if (alternates_) return thread / 32 * 8 + second * 4;
    return thread / 32 * 16 + second;
  }

  int first_output(const ExpertsPlace& place) const {
    return (place.column * Shared::kGroups + group_) * (p_.paired != 0 ? 64 : 128);
  }

  /// What comes before the activation, rounded. One run of 64 outputs after the other by the same instructions.
  void keep(const ExpertsPlace& place, const Sums& lo, const Sums& hi) {
    const bool paired = p_.paired != 0;
#pragma unroll 1
    for (int run = 0; run < 2; ++run) {
      const bool second = run != 0, up = second && paired;
      put_run(place, first_output(place) + (second && !paired ? 64 : 0), ToZ{p_, up ? p_.outputs : 0},
              [&](int i, float weight, const float(&bias)[2], const float(&up_bias)[2]) {
                return arch::multiply_add(second ? hi[i] : lo[i], weight, up ? up_bias[i / 2 % 2] : bias[i / 2 % 2]);
              });
    }
  }

  /// The tile's results, to global memory. Alone, the two runs of outputs leave one after the other.
  void put(const ExpertsPlace& place, const Sums& lo, const Sums& hi) {
    if constexpr (C.keeps)
      if (p_.z != nullptr) keep(place, lo, hi);
    const ToOut out{p_};
    with_activation(p_, [&](auto activate) {
      const int first = (place.column * Shared::kGroups + group_) * (activate.kGated ? 64 : 128);
      if constexpr (activate.kGated) {
        put_run(place, first, out, [&](int i, float weight, const float(&bias)[2], const float(&up_bias)[2]) {
          return activate(arch::multiply_add(lo[i], weight, bias[i / 2 % 2]),
                          arch::multiply_add(hi[i], weight, up_bias[i / 2 % 2]));
        });
      } else {
        const auto one = [&](const Sums& sums) {
          return [&](int i, float weight, const float(&bias)[2], const float(&)[2]) {
            return activate(arch::multiply_add(sums[i], weight, bias[i / 2 % 2]));
          };
        };
        put_run(place, first, out, one(lo));
        put_run(place, first + 64, out, one(hi));
      }
    });
  }

  /// 64 outputs from `first` on to where `to_rows` says, as many rows at once as there is room for: a thread holds
  /// columns, and stores 16 bytes of a row.
  /// result(i, weight of its row, biases of its output and of the one 8 further on) is element i.
  template <class To, class Result>
  void put_run(const ExpertsPlace& place, int first, const To& to_rows, Result result) {
    TileOut& s_out = s_.out[group_];
    const int lane = arch::lane(), thread = arch::thread() % 128;
    float bias[2], up_bias[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int output = first + output_of(thread, 2 * h);
      bias[h] = bias_of(place, output, 0);
      up_bias[h] = p_.paired != 0 ? bias_of(place, output, p_.bias_up) : 0.f;
    }
    // The lane gives the address of 8 outputs: those of the first or the second rows of its warp's lanes.
    const auto to = arch::in_one_register(
        s_out.data, TileOut::offset(LdmatrixMap::right_row(lane), first_column(thread, LdmatrixMap::right_col(lane))));
    const int column = thread % 8 * 8, row = thread / 8;
    const auto from = arch::in_one_register(s_out.data, TileOut::offset(row, column));
    T* g_out = to_rows.row(place, row) + first + column;
    const bool inside = first + column < p_.outputs;
#pragma unroll
    for (int begin = 0; begin < C.tile_rows; begin += TileOut::kRows) {
      if (begin >= place.rows) break;
      arch::named_barrier_sync(1 + group_, 128);  // what lay there before has left
#pragma unroll
      for (int r = begin; r < C.tile_rows && r < begin + TileOut::kRows; r += kExpertsStep) {
        if (r >= place.rows) break;
        float weights[2][2] = {{1.f, 1.f}, {1.f, 1.f}};  // of the two n8 tiles' rows
        read_weights(weights, place, r);
        uint32 words[4];
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const int i = r / 2 + q / 2 * 4 + q % 2 * 2;
          words[q] = arch::pack<T>(result(i, weights[q / 2][0], bias, up_bias),
                                   result(i + 1, weights[q / 2][1], bias, up_bias));
        }
        arch::stmatrix_x4_trans(to.s_base, TileOut::down(to.s_offset, r - begin), words);
      }
      arch::named_barrier_sync(1 + group_, 128);
#pragma unroll
      for (int r = begin; r < C.tile_rows && r < begin + TileOut::kRows; r += 16) {
        if (r >= place.rows) break;
        auto outputs = arch::load_shared<Bytes16>(from.s_base, TileOut::down(from.s_offset, r - begin));
        if constexpr (C.transposed)
          if (alternates_) outputs = in_order(outputs);
        arch::store_if(inside && row + r < place.rows, g_out, 0, outputs);
        g_out += 16 * to_rows.each();
      }
    }
  }

  /// What products of 16 rows from `first` on are multiplied by, this thread's of them.
  void read_weights(float (&weights)[2][2], const ExpertsPlace& place, int first) const {
    if (p_.weights == nullptr) return;
#pragma unroll
    for (int t = 0; t < 2; ++t)
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
  const bool leads_, alternates_;
  int at_;  // slices so far
};

}  // namespace flashfit
