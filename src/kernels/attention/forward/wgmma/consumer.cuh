#pragma once
// A warpgroup that computes 64 of a tile's rows.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/output.cuh"
#include "kernels/attention/forward/wgmma/late_bases.cuh"
#include "kernels/attention/forward/wgmma/shared.cuh"
#include "kernels/attention/forward/wgmma/works.cuh"
#include "kernels/attention/mask.cuh"
#include "kernels/attention/score.cuh"
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
  static constexpr bool kGeneral = C.kind == ForwardKind::kGeneral;
  static constexpr int kRows = 64;  // of a warpgroup
  static constexpr int kN = C.block_n, kD = C.head_dim_v;
  /// The two warpgroups take turns: products of one are issued while the other makes weights. Where products take much
  /// longer than weights, that is so without.
  static constexpr bool kTakesTurns = C.warps == 8 && C.head_dim <= 128;
  static constexpr int kTurn = 1;  // named barriers: a warpgroup's turn is kTurn + its index
  static constexpr int kClear = 3;

 public:
  static void run(const Params& p, Shared& s) { WgmmaConsumer(p, s).run(); }

 private:
  WgmmaConsumer(const Params& p, Shared& s) : p_(p), s_(s), group_(arch::warp() / 4), at_(0), works_(0) {}

  void run() {
    if (kTakesTurns && group_ == 1) pass_turn();
    for_each_work<C>(p_, [&](const Work& work, int number) {
      attend(work, number);
      ++works_;
    });
  }

  void attend(const Work& work, int number) {
    const ForwardParams& f = p_.forward;
    const Visibility visible(f, work.queries, work.keys);
    const TileRange tiles = key_tiles<C>(p_, work, visible);
    const int group_row = work.first_row + group_ * kRows, warp_row = work.first_row + Warp::first_row();
    const int group_last = group_row + kRows < work.queries ? group_row + kRows - 1 : work.queries - 1;
    // The warpgroup's tiles end before `end`; in those up to `begun` a row may see its first key; those before `whole`
    // are seen to their last key by each of the warp's rows.
    const int seen = group_row < work.queries ? (visible.count(group_last) + kN - 1) / kN : 0;
    const int end = clamp(seen, tiles.begin, tiles.end);
    const int begun = visible.first(group_last) / kN > tiles.begin ? visible.first(group_last) / kN : tiles.begin;
    const int whole = visible.count(warp_row) / kN;
    const float scale_log2 = kGeneral ? 1.f : f.softmax_scale * kLog2E;

    float x[kN / 2], o[kD / 2];
    uint32 w[kN / 16][4];
    float(&scores)[1][kN / 8][4] = as_m16(x);
    float(&outputs)[1][kD / 8][4] = as_m16(o);
#pragma unroll
    for (int i = 0; i < kD / 2; ++i) o[i] = 0.f;
    RowState rows[1][2];
    clear(rows);
    const auto finish_scores = [&](auto& c, int j, int first_key) {
      if constexpr (kGeneral) score_tile(c, warp_row, first_key, Scoring<T>(f, work));
      if (j >= whole || !visible.sees_from(warp_row + Warp::kRows - 1, j * kN)) mask(c, warp_row, first_key, visible);
    };

    s_.of_q.wait_full(works_);
    for (int j = tiles.begin; j < end; ++j) {
      const int n = at_ + j - tiles.begin;
      k_of(n).wait_full(n / C.stages);
      take_turn();
      arch::wgmma_fence(x, o, w);
      multiply_qk(x, n);
      if (j == tiles.begin) {
        pass_turn();
        arch::wgmma_wait<0>(x);
      } else {
        v_of(n - 1).wait_full((n - 1) / C.stages);
        multiply_pv(o, w, n - 1);
        pass_turn();
        arch::wgmma_wait<1>(x);
      }
      finish_scores(scores, j, j * kN);
      if (j <= begun) {
        arch::wgmma_wait<0>(o);
        if (exceeds_base<T>(scores, rows, scale_log2)) follow_maximum<T>(scores, outputs, rows, scale_log2);
      }
      float sums[1][2];
      exponentiate(scores, sums, rows, scale_log2);
      const bool are_late = sums_pass<T>(sums);
      if (!are_late) k_of(n).release();
      arch::wgmma_wait<0>(o);
      if (j > tiles.begin) v_of(n - 1).release();
      if (are_late) {
        LateRows late = follow_weights<T>(scores, sums, rows);
        round(w, x);
        if (arch::ballot(late.lost[0] || late.lost[1]) != 0)
          weigh_again(w, sums, late, s_.k[n % C.stages], scale_log2,
                      [&](auto& c, int key) { finish_scores(c, j, j * kN + key); });
        k_of(n).release();
        follow_bases(outputs, rows, late);
      } else {
        round(w, x);
      }
      rows[0][0].sum += sums[0][0];
      rows[0][1].sum += sums[0][1];
    }
    if constexpr (Shared::kApart) s_.of_q.release();
    if (end > tiles.begin) {
      const int n = at_ + end - 1 - tiles.begin;
      v_of(n).wait_full(n / C.stages);
      if (end == tiles.end) clear_spare_rows(work, tiles, n);
      arch::wgmma_fence(o, w);
      multiply_pv(o, w, n);
      arch::wgmma_wait<0>(o);
      v_of(n).release();
    }
    // What the other warpgroups' rows see.
    for (int j = end; j < tiles.end; ++j) {
      const int n = at_ + j - tiles.begin;
      k_of(n).wait_full(n / C.stages);
      take_turn();
      pass_turn();
      k_of(n).release();
      v_of(n).wait_full(n / C.stages);
      if (j + 1 == tiles.end) clear_spare_rows(work, tiles, n);
      v_of(n).release();
    }
    at_ += tiles.end - tiles.begin;
    // Where the rows lie is found again: kept through the loop, it would cost registers.
    Output<C>::store(s_.rows.o, outputs, rows, find_work<C.block_m>(f, number), f);
    if constexpr (!Shared::kApart) {
      arch::fence_proxy_async();  // TMA overwrites what has been stored
      s_.of_q.release();
    }
  }

  /// S = Q K^T of the n-th key tile, for the warpgroup's rows.
  void multiply_qk(float (&x)[kN / 2], int n) const {
    const uint32 q = arch::shared_address(s_.rows.q.data), k = arch::shared_address(s_.k[n % C.stages].data);
#pragma unroll
    for (int i = 0; i < C.head_dim; i += 16)
      arch::wgmma_m64k16<T>(x, encode(TileQ::k_major(q, 0, i)) + (group_ * TileQ::kRowBytes * kRows >> 4),
                            encode(TileK::k_major(k, 0, i)), i != 0);
    arch::wgmma_commit();
  }
  /// O += P V.
  void multiply_pv(float (&o)[kD / 2], const uint32 (&w)[kN / 16][4], int n) const {
    const uint32 v = arch::shared_address(s_.v[n % C.stages].data);
#pragma unroll
    for (int i = 0; i < kN / 16; ++i)
      arch::wgmma_m64k16<T, Major::kMN>(o, w[i], encode(TileV::mn_major(v, i * 16, 0)), true);
    arch::wgmma_commit();
  }

  static void round(uint32 (&w)[kN / 16][4], const float (&x)[kN / 2]) {
#pragma unroll
    for (int i = 0; i < kN / 4; ++i) w[i / 4][i % 4] = arch::pack<T>(x[2 * i], x[2 * i + 1]);
  }

  /// Rows of V behind the last key that TMA copied all the same, of the next sequence or of keys not in use: a weight
  /// of 0 times what they hold may be NaN. All consumers call it together.
  void clear_spare_rows(const Work& work, TileRange tiles, int n) const {
    const int spare = tiles.end * kN - work.keys;
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
  void weigh_again(uint32 (&w)[kN / 16][4], float (&sums)[1][2], LateRows& late, const TileK& k, float scale_log2,
                   Finish finish) const {
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
      const float base = row_max(tops[h]) * scale_log2;
      if (late.lost[h]) late.bases[h] = base, sums[0][h] = 0.f;
      rows[0][h] = {late.bases[h], 0.f};
    }
#pragma unroll
    for (int key = 0; key < kN; key += 16) {
      float c[1][2][4] = {}, more[1][2];
      multiply_16_keys(c, k, key);
      finish(c, key);
      exponentiate(c, more, rows, scale_log2);
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
    const int lane = arch::lane();
#pragma unroll 1
    for (int i = 0; i < C.head_dim; i += 16) {
      uint32 a[4], b[4];
      arch::ldmatrix_x4(
          a, s_.rows.q.data,
          TileQ::offset(Warp::first_row() + LdmatrixMap::down_row(lane), i + LdmatrixMap::down_col(lane)));
      arch::ldmatrix_x4(b, k.data, TileK::offset(key + LdmatrixMap::right_row(lane), i + LdmatrixMap::right_col(lane)));
      arch::mma_m16n8k16<T>(c[0][0], a, b[0], b[1]);
      arch::mma_m16n8k16<T>(c[0][1], a, b[2], b[3]);
    }
  }

  Handover& k_of(int n) const { return s_.of_k[n % C.stages]; }
  Handover& v_of(int n) const { return s_.of_v[n % C.stages]; }
  void take_turn() {
    if constexpr (kTakesTurns) arch::named_barrier_sync(kTurn + group_, 256);
  }
  void pass_turn() {
    if constexpr (kTakesTurns) arch::named_barrier_arrive(kTurn + 1 - group_, 256);
  }

  const Params& p_;
  Shared& s_;
  const int group_;
  int at_, works_;  // key tiles and tiles of rows so far
};

}  // namespace flashfit
