#pragma once
// A warpgroup that computes 64 of a tile's rows.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/output.cuh"
#include "kernels/attention/forward/wgmma/late_bases.cuh"
#include "kernels/attention/forward/wgmma/shared.cuh"
#include "kernels/attention/forward/wgmma/softcap.cuh"
#include "kernels/attention/mask.cuh"
#include "kernels/attention/softmax.cuh"
#include "kernels/layout/fragment.hpp"

namespace flashfit {

template <ForwardConfig C>
class WgmmaConsumer {
  using Params = WgmmaForwardParams;
  using Shared = WgmmaShared<C>;
  using T = Element<C.dtype>;
  using TileQ = typename Shared::TileQ;
  using TileK = typename Shared::TileK;
  using TileV = typename Shared::TileV;
  using Warp = WarpTile<C>;
  using Visible = RowVisibility<C.packs>;
  static constexpr bool kHasSoftcap = C.kind == ForwardKind::kGeneral;
  static constexpr int kShareReciprocal = C.head_dim_v <= 128 ? 4 : 2;  // more take registers that there are not
  /// The end of rows is that of plain ones: those with a base past kMostBase are computed again.
  static constexpr ForwardConfig kPlainForm = [] {
    ForwardConfig plain = C;
    plain.kind = ForwardKind::kPlain;
    return plain;
  }();
  static constexpr int kRows = 64;  // of a warpgroup
  static constexpr int kN = C.block_n, kD = C.head_dim_v;
  /// The warpgroups take turns: products of one are issued while others make weights. Where products take much
  /// longer than weights, that is so without.
  static constexpr bool kTakesTurns = C.head_dim <= 128;
  static constexpr int kGroups = C.warps / 4;
  static constexpr int kTurn = 1;  // named barriers: a warpgroup's turn is kTurn + its index
  static constexpr int kClear = kTurn + kGroups;

 public:
  static void run(const Params& p, Shared& s) { WgmmaConsumer(p, s).run(); }

 private:
  using Scores = float[kN / 2];
  using Outputs = float[kD / 2];
  using Weights = uint32[kN / 16][4];

  static constexpr int kNone = -1;
  /// What a job still lacks when the loop over its keys has ended: P V of the last ones, whose weights are made, and
  /// its way out. That P V runs together with the next job's first Q K^T.
  struct Unfinished {
    int tile;  ///< of keys; kNone if no P V is lacking
    bool is_stored;
    RowState rows[1][2];
  };

  WgmmaConsumer(const Params& p, Shared& s) : p_(p), s_(s), group_(arch::warp() / 4), at_(0), turn_(0) {}

  void run() {
    Outputs o;
    Weights w;
    Unfinished last;
    last.tile = kNone;
    last.is_stored = true;
    zero(o);
    if (kTakesTurns && group_ == kGroups - 1) pass_turn();
    for (;; ++turn_) {
      const int slot = turn_ % Shared::kRowSlots;
      s_.of_rows[slot].wait_full(turn_ / Shared::kRowSlots);
      const Job job = s_.jobs[slot].get();
      if (Shared::kRowSlots > 1 && (job.tiles.begin == job.tiles.end || last.tile == kNone)) [[unlikely]]
        finish(o, w, last, turn_ - 1);
      if (job.work.queries == 0) break;
      attend(job, o, w, last);
    }
  }

  /// A job's rows. What few tiles ask for stays in shared memory.
  struct Rows {
    int first;  ///< number of key tile 0, as the block counts
    /// Key tiles of which each of the warp's rows sees all keys. In those before, rows may see their first ones.
    TileRange whole;
    RowState state[1][2];
  };

  void attend(Job job, Outputs& o, Weights& w, Unfinished& last) {
    const Visible visible(p_.forward, job.work.queries, job.work.keys);
    const int rows_q = TileRows<C.packs>::count(p_.forward, job.work.queries);
    const int group_row = job.work.first_row + arch::warp() / 4 * kRows,
              warp_row = job.work.first_row + Warp::first_row();
    const int group_last = (group_row + kRows < rows_q ? group_row + kRows : rows_q) - 1;
    const int first_key = visible.first(group_last);  // as from the last row on all have seen one
    Rows rows{.first = at_ - job.tiles.begin,
              .whole = {first_key == 0 ? 0 : first_key / kN + 1, visible.count(warp_row) / kN},
              .state = {}};
    clear(rows.state);
    // The warpgroup's tiles end before `end`. There is one even if its rows see nothing of it.
    const int seen = group_row < rows_q ? (visible.count(group_last) + kN - 1) / kN : 0;
    const int end = clamp(seen, job.tiles.begin < job.tiles.end ? job.tiles.begin + 1 : job.tiles.end, job.tiles.end);

    if (job.tiles.begin < job.tiles.end) {
      if (Shared::kRowSlots > 1 && last.tile != kNone) [[likely]]
        step<true, true>(rows, job.tiles.begin, o, w, last);
      else
        step<true, false>(rows, job.tiles.begin, o, w, last);
      for (int j = job.tiles.begin + 1; j < end; ++j) step<false, true>(rows, j, o, w, last);
      last.tile = rows.first + end - 1;
      job = this->job();
      if (end == job.tiles.end) {
        v_of(last.tile).wait_full(last.tile / C.stages);
        clear_spare_rows(job, last.tile);
      }
    }
    last.is_stored = false;
#pragma unroll
    for (int h = 0; h < 2; ++h) last.rows[0][h] = rows.state[0][h];
    if (Shared::kRowSlots == 1)
      finish(o, w, last, turn_);
    else if (job.tiles.end - end >= C.stages) [[unlikely]]  // V of what is lacking keeps a slot that others need
      multiply_last(o, w, last);
    // What the other warpgroups' rows see.
    for (int j = end; j < job.tiles.end; ++j) {
      const int n = rows.first + j;
      k_of(n).wait_full(n / C.stages);
      take_turn();
      pass_turn();
      k_of(n).release();
      v_of(n).wait_full(n / C.stages);
      if (j + 1 == job.tiles.end) clear_spare_rows(job, n);
      v_of(n).release();
    }
    at_ = rows.first + job.tiles.end;
  }
  Job job() const { return s_.jobs[turn_ % Shared::kRowSlots].get(); }

  /// Scores of the warp's rows with keys from first_key on, of key tile j, from products.
  template <class Products>
  void finish_scores(Products& c, const Rows& rows, int j, int first_key) const {
    const bool is_whole = j >= rows.whole.begin && j < rows.whole.end;
    const auto hide = [&] {
      const Work work = job().work;
      mask(c, work.first_row + Warp::first_row(), first_key, Visible(p_.forward, work.queries, work.keys));
    };
    if (kHasSoftcap && p_.softcap_x > 0) {
      // Scores share reciprocals: what lies behind a sequence's last key would move the last bits of those that count.
      if (!is_whole) hide();
      cap_products<kShareReciprocal>(c, p_.softcap_x);
    }
    if (!is_whole) hide();
  }
  float scale_log2() const { return p_.scale_log2; }

  /// Key tile j of the rows: kFirst if it is their first, kPending if a P V is lacking, of theirs or of the job before.
  /// The main loop pays for each question that first tiles alone would ask, 3 % for all of them: hence two copies.
  template <bool kFirst, bool kPending>
  void step(Rows& rows, int j, Outputs& o, Weights& w, const Unfinished& last) {
    // A shuffle tells the compiler that the number is uniform: addresses are computed once for all lanes then.
    const int n = arch::shuffle(rows.first + j, 0), before = kFirst ? arch::shuffle(last.tile, 0) : n - 1;
    Scores x;
    float(&scores)[1][kN / 8][4] = as_m16(x);
    float(&outputs)[1][kD / 8][4] = as_m16(o);

    k_of(n).wait_full(n / C.stages);
    take_turn();
    arch::wgmma_fence(x);
    multiply_qk(x, n);
    if constexpr (kPending) {
      v_of(before).wait_full(before / C.stages);
      arch::wgmma_fence(o, w);
      multiply_pv(o, w, before);
    }
    pass_turn();
    arch::wgmma_wait<kPending>(x);
    finish_scores(scores, rows, j, j * kN);
    if constexpr (kFirst) {
      take_first_bases<T>(scores, rows.state, scale_log2());
    } else if (j < rows.whole.begin) {
      arch::wgmma_wait<0>(o);
      if (exceeds_base<T>(scores, rows.state, scale_log2()))
        follow_maximum<T>(scores, outputs, rows.state, scale_log2());
    }
    float sums[1][2];
    exponentiate(scores, sums, rows.state, scale_log2());
    const bool are_late = !kFirst && sums_pass<T>(sums);
    if (!are_late) k_of(n).release();
    if constexpr (kPending) {
      arch::wgmma_wait<0>(o);
      v_of(before).release();
    }
    if (are_late) [[unlikely]] {
      LateRows late = follow_weights<T>(scores, sums, rows.state);
      round(w, x);
      const int tile = arch::shuffle(j, 0);  // else the compiler asks in the loop what only this path needs to know
      if (arch::ballot(late.lost[0] || late.lost[1]) != 0)
        weigh_again(w, sums, late, s_.k[n % C.stages],
                    [&](auto& c, int key) { finish_scores(c, rows, tile, tile * kN + key); });
      k_of(n).release();
      follow_bases(outputs, rows.state, late);
    } else {
      round(w, x);
    }
    if constexpr (kFirst && kPending) store(o, last, turn_ - 1);
    rows.state[0][0].sum += sums[0][0];
    rows.state[0][1].sum += sums[0][1];
  }

  /// The P V that is lacking.
  void multiply_last(Outputs& o, Weights& w, Unfinished& last) {
    const int n = arch::shuffle(last.tile, 0);
    v_of(n).wait_full(n / C.stages);
    arch::wgmma_fence(o, w);
    multiply_pv(o, w, n);
    arch::wgmma_wait<0>(o);
    v_of(n).release();
    last.tile = kNone;
  }
  /// All that is lacking, if anything.
  void finish(Outputs& o, Weights& w, Unfinished& last, int turn) {
    if (last.tile != kNone) multiply_last(o, w, last);
    if (!last.is_stored) store(o, last, turn);
    last.is_stored = true;
  }

  /// The outputs of the job of that turn.
  void store(Outputs& o, const Unfinished& last, int turn) {
    const int slot = turn % Shared::kRowSlots;
    if (arch::load_shared(s_.v_before, slot) != 0) {
      // The head's columns are the next tile's of 8: that is 4 accumulators.
#pragma unroll
      for (int i = 0; i + 4 < kD / 2; ++i) o[i] = o[i + 4];
    }
    const Work work = s_.jobs[slot].get().work;
    if constexpr (takes_parts(C)) {
      Output<kPlainForm>::store(s_.rows[slot].o, as_m16(o), last.rows, work, p_.forward);
    } else {
      ForwardParams whole = p_.forward;
      whole.splits = 1;  // the compiler then leaves out what parts take
      Output<kPlainForm>::store(s_.rows[slot].o, as_m16(o), last.rows, work, whole);
    }
    arch::fence_proxy_async();  // TMA overwrites what has been stored
    s_.of_rows[slot].release();
    zero(o);
  }
  static void zero(Outputs& o) {
#pragma unroll
    for (int i = 0; i < kD / 2; ++i) o[i] = 0.f;
  }

  /// S = Q K^T of the n-th key tile, for the warpgroup's rows.
  void multiply_qk(float (&x)[kN / 2], int n) const {
    const uint64 q = encode(TileQ::k_major(arch::shared_address(q_tile().data), group_ * kRows, 0));
    const uint64 k = encode(TileK::k_major(arch::shared_address(s_.k[n % C.stages].data), 0, 0));
#pragma unroll
    for (int i = 0; i < C.head_dim; i += 16)
      arch::wgmma_m64k16<T>(x, TileQ::moved(q, 0, i), TileK::moved(k, 0, i), i != 0);
    arch::wgmma_commit();
  }
  /// O += P V.
  void multiply_pv(float (&o)[kD / 2], const uint32 (&w)[kN / 16][4], int n) const {
    const uint64 v = encode(TileV::mn_major(arch::shared_address(s_.v[n % C.stages].data), 0, 0));
#pragma unroll
    for (int i = 0; i < kN / 16; ++i) arch::wgmma_m64k16<T, Major::kMN>(o, w[i], TileV::moved(v, i * 16, 0), true);
    arch::wgmma_commit();
  }

  static void round(uint32 (&w)[kN / 16][4], const float (&x)[kN / 2]) {
#pragma unroll
    for (int i = 0; i < kN / 4; ++i) w[i / 4][i % 4] = arch::pack<T>(x[2 * i], x[2 * i + 1]);
  }

  /// Rows of V behind the last key that TMA copied all the same, of the next sequence or of keys not in use: a weight
  /// of 0 times what they hold may be NaN. All consumers call it together.
  void clear_spare_rows(const Job& job, int n) const {
    const int spare = job.tiles.end * kN - job.work.keys;
    if (spare <= 0 || (p_.forward.cu_seqlens_k == nullptr && p_.forward.seqused_k == nullptr)) return;
    constexpr int kChunks = TileV::kPanel / 8;
    for (int i = arch::thread(); i < spare * kChunks * TileV::kPanels; i += C.warps * 32) {
      const int line = i / kChunks, panel = line / spare, row = kN - spare + line - panel * spare;
      arch::store_shared(s_.v[n % C.stages].data, TileV::offset(row, panel * TileV::kPanel + i % kChunks * 8),
                         Bytes16{});
    }
    arch::fence_proxy_async();
    arch::named_barrier_sync(kClear, C.warps * 32);
  }

  /// Weights of lost rows, their sums and bases from scores that mma.sync makes, which one warp can do alone. `finish`
  /// makes scores of the products with 16 keys from a place in the tile on.
  template <class Finish>
  void weigh_again(uint32 (&w)[kN / 16][4], float (&sums)[1][2], LateRows& late, const TileK& k, Finish finish) const {
    float tops[2] = {kMinusInfinity, kMinusInfinity};
#pragma unroll 1
    for (int key = 0; key < kN; key += 16) {
      float c[1][2][4] = {};
      multiply_16_keys(c, k, key);
      finish(c, key);
#pragma unroll
      for (int h = 0; h < 2; ++h) tops[h] = arch::max(tops[h], top_score(c, 0, h));
    }
    RowState rows[1][2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float base = row_max(tops[h]) * scale_log2();
      if (late.lost[h]) late.bases[h] = base, sums[0][h] = 0.f;
      rows[0][h] = {late.bases[h], 0.f};
    }
#pragma unroll
    for (int key = 0; key < kN; key += 16) {
      float c[1][2][4] = {}, more[1][2];
      multiply_16_keys(c, k, key);
      finish(c, key);
      exponentiate(c, more, rows, scale_log2());
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        if (!late.lost[h]) continue;
        sums[0][h] += more[0][h];
#pragma unroll
        for (int i = 0; i < 2; ++i) w[key / 16][2 * i + h] = arch::pack<T>(c[0][i][2 * h], c[0][i][2 * h + 1]);
      }
    }
  }
  void multiply_16_keys(float (&c)[1][2][4], const TileK& k, int key) const {
    // A shuffle, so that the compiler cannot keep what follows from the lane in registers through the main loop.
    const int lane = arch::shuffle_xor(arch::lane(), 0);
#pragma unroll 1
    for (int i = 0; i < C.head_dim; i += 16) {
      uint32 a[4], b[4];
      arch::ldmatrix_x4(
          a, q_tile().data,
          TileQ::offset(Warp::first_row() + LdmatrixMap::down_row(lane), i + LdmatrixMap::down_col(lane)));
      arch::ldmatrix_x4(b, k.data, TileK::offset(key + LdmatrixMap::right_row(lane), i + LdmatrixMap::right_col(lane)));
      arch::mma_m16n8k16<T>(c[0][0], a, b[0], b[1]);
      arch::mma_m16n8k16<T>(c[0][1], a, b[2], b[3]);
    }
  }

  TileQ& q_tile() const { return s_.rows[arch::shuffle(turn_, 0) % Shared::kRowSlots].q; }
  Handover& k_of(int n) const { return s_.of_k[n % C.stages]; }
  Handover& v_of(int n) const { return s_.of_v[n % C.stages]; }
  void take_turn() {
    if constexpr (kTakesTurns) arch::named_barrier_sync(kTurn + group_, 256);
  }
  void pass_turn() {
    if constexpr (kTakesTurns) arch::named_barrier_arrive(kTurn + (group_ + 1 < kGroups ? group_ + 1 : 0), 256);
  }

  const Params& p_;
  Shared& s_;
  const int group_;
  int at_, turn_;  // key tiles and jobs so far
};

}  // namespace flashfit
