#pragma once
// A consumer warpgroup of blocks that take whole heads: it computes blocks of 64 query rows, and shares nothing with
// the other warpgroups but key tiles.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/output.cuh"
#include "kernels/attention/forward/wgmma/heads/rounds.cuh"
#include "kernels/attention/forward/wgmma/heads/shared.cuh"
#include "kernels/attention/forward/wgmma/late_bases.cuh"
#include "kernels/attention/forward/wgmma/products.cuh"
#include "kernels/attention/mask.cuh"
#include "kernels/attention/softmax.cuh"
#include "kernels/layout/fragment.hpp"

namespace flashfit {

template <ForwardConfig C>
class WgmmaHeadsConsumer {
  using Params = WgmmaForwardParams;
  using Shared = WgmmaHeadsShared<C>;
  using T = Element<C.dtype>;
  using TileQ = typename Shared::TileQ;
  using Warp = WarpTile<C>;
  using Products = WgmmaProducts<C>;
  static constexpr int kN = C.block_n, kD = C.head_dim_v, kRows = kWarpgroupRows, kGroups = C.warps / 4;

 public:
  static void run(const Params& p, Shared& s) { WgmmaHeadsConsumer(p, s).run(); }

 private:
  using Scores = typename Products::Scores;
  using Outputs = typename Products::Outputs;
  using Weights = typename Products::Weights;

  WgmmaHeadsConsumer(const Params& p, Shared& s)
      : p_(p),
        s_(s),
        group_(arch::warp() / 4),
        stay_(HeadRounds<C>(p).stay()),
        now_(p, group_, stay_),
        asked_(now_),
        given_(0) {}

  void run() {
    Outputs o;
    Weights w;
    Products::zero(o);
    for (int i = 0; i < Shared::kRowBuffers; ++i) ask_for_rows();
    const HeadRounds<C> rounds(p_);
    const int of_head = rounds.longest(0);
    int end = 0;  // of the key tiles that are copied for the rows, as the thread block counts them
    while (now_.head() < p_.all_heads) {
      const int rows = rounds.rows_at(now_.place()), tiles = rounds.tiles(rows);
      if (stay_)
        end = (now_.heads_before() + 1) * of_head;
      else
        end += rounds.longest(now_.place() / kGroups);
      pass_over(end - tiles);
      const int kept = stay_ ? rounds.tiles(rounds.rows_at(now_.place() + now_.ahead())) : 0;
      // Without rows, too: until all four warps have arrived, a further arrival would count for them.
      arch::mbarrier_wait(s_.full_rows[buffer()][group_], now_.index() / Shared::kRowBuffers % 2);
      if (rows >= 0)
        attend(rows, tiles, kept, end - tiles, o, w);
      else
        ask_for_rows();
      given_ = end - kept;
      now_.next(p_, stay_);
    }
    if (stay_) pass_over((p_.all_heads - arch::block().x + arch::grid().x - 1) / arch::grid().x * of_head);
  }

  /// Releases, unread, the key tiles before that number: only other warpgroups' rows see them.
  void pass_over(int end) {
    for (; given_ != end; ++given_) {
      k_of(given_).wait_full(given_ / C.stages);
      k_of(given_).release();
      v_of(given_).wait_full(given_ / C.stages);
      v_of(given_).release();
    }
  }
  /// A block of rows over its key tiles, of which the last one, visited first, has number `first`. Tiles from `kept` on
  /// are released, as the warpgroup's next rows do not see them.
  void attend(int rows, int tiles, int kept, int first, Outputs& o, Weights& w) {
    RowState state[1][2];
    clear(state);
    const int warp_row = (rows - group_) * kRows + Warp::first_row();
    const int whole = visible().count(warp_row) / kN;
    if (tiles != 0) {
      step<true>(state, warp_row, whole, kept, tiles - 1, first, o, w);
      for (int j = tiles - 2; j >= 0; --j) step<false>(state, warp_row, whole, kept, j, first + tiles - 1 - j, o, w);
      multiply_last(o, w, first + tiles - 1, kept == 0);
    }
    store(o, state);
  }
  Visibility visible() const { return Visibility(p_.forward, p_.forward.seqlen_q, p_.forward.seqlen_k); }

  /// Key tile j of the rows, which has that number: kFirst if it is their first. Else P V of the one before is issued,
  /// too.
  template <bool kFirst>
  void step(RowState (&state)[1][2], int warp_row, int whole, int kept, int j, int number, Outputs& o, Weights& w) {
    // A shuffle tells the compiler that the number is uniform: addresses are computed once for all lanes then.
    const int n = arch::shuffle(number, 0), before = n - 1;
    Scores x;
    float(&scores)[1][kN / 8][4] = as_m16(x);
    float(&outputs)[1][kD / 8][4] = as_m16(o);

    k_of(n).wait_full(n / C.stages);
    arch::wgmma_fence(x);
    multiply_qk(x, n);
    if constexpr (!kFirst) {
      v_of(before).wait_full(before / C.stages);
      arch::wgmma_fence(o, w);
      multiply_pv(o, w, before);
    }
    arch::wgmma_wait<!kFirst>(x);
    if (j >= whole) hide(scores, warp_row, j * kN);
    if constexpr (kFirst) take_first_bases<T>(scores, state, p_.scale_log2);
    float sums[1][2];
    exponentiate(scores, sums, state, p_.scale_log2);
    const bool are_late = !kFirst && sums_pass<T>(sums);
    if (!are_late && j >= kept) k_of(n).release();
    if constexpr (!kFirst) {
      arch::wgmma_wait<0>(o);
      if (j + 1 >= kept) v_of(before).release();
    }
    if (are_late) [[unlikely]] {
      LateRows late = follow_weights<T>(scores, sums, state);
      Products::round(w, x);
      const int tile = arch::shuffle(j, 0);  // else the compiler computes in the loop what only this path needs
      if (arch::ballot(late.lost[0] || late.lost[1]) != 0)
        Products::weigh_again(
            w, sums, late, [&]() -> TileQ& { return q_tile(); }, s_.k[n % C.stages], p_.scale_log2,
            [&](auto& c, int key) { hide(c, warp_row, tile * kN + key); });
      arch::sync_warp();  // the rows' output goes where other lanes have just read Q
      if (tile >= kept) k_of(n).release();
      follow_bases(outputs, state, late);
    } else {
      Products::round(w, x);
    }
    state[0][0].sum += sums[0][0];
    state[0][1].sum += sums[0][1];
  }

  /// Scores of keys that their row does not see become -inf. c covers rows first_row .. and keys first_key ...
  template <int N8>
  void hide(float (&c)[1][N8][4], int first_row, int first_key) const {
    const int lane = arch::lane();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int last =
          visible().last(first_row + AccumulatorMap::row(lane, i)) - first_key - AccumulatorMap::col(lane, i);
#pragma unroll
      for (int n = 0; n < N8; ++n)
        if (n * 8 > last) c[0][n][i] = kMinusInfinity;
    }
  }

  /// P V of the job's last tile.
  void multiply_last(Outputs& o, Weights& w, int tile, bool frees) {
    const int n = arch::shuffle(tile, 0);
    v_of(n).wait_full(n / C.stages);
    arch::wgmma_fence(o, w);
    multiply_pv(o, w, n);
    arch::wgmma_wait<0>(o);
    if (frees) v_of(n).release();
  }

  void store(Outputs& o, const RowState (&state)[1][2]) {
    const int sequence = p_.forward.heads.quotient(now_.head());
    const Work work{.sequence = sequence,
                    .head = now_.head() - sequence * p_.forward.heads.by,
                    .first_row = (HeadRounds<C>(p_).rows_at(now_.place()) - group_) *
                                 kRows,  // a warp's rows lie where its rows of the tile do
                    .queries = p_.forward.seqlen_q,
                    .keys = p_.forward.seqlen_k,
                    .q_offset = 0,
                    .k_offset = 0};
    ForwardParams whole = p_.forward;
    whole.splits = 1;  // so that the compiler omits the code of split-KV
    Output<C>::store(s_.rows[buffer()].o, as_m16(o), state, work, whole);
    arch::fence_proxy_async();  // TMA overwrites what has been stored
    arch::sync_warp();
    ask_for_rows();
    Products::zero(o);
  }
  /// Issues the copy of the warp's next rows of Q that are not requested yet.
  void ask_for_rows() {
    const HeadRounds<C> rounds(p_);
    const int head = asked_.head(), rows = rounds.rows_at(asked_.place()),
              buffer = asked_.index() % Shared::kRowBuffers;
    asked_.next(p_, stay_);
    if (head >= p_.all_heads) return;
    const int warp_row = Warp::first_row();
    MBarrier& full = s_.full_rows[buffer][group_];
    if (arch::lane() == 0) {
      if (rows < 0) {
        arch::mbarrier_arrive(full);
      } else {
        const int sequence = p_.forward.heads.quotient(head);
        TileQ& q = s_.rows[buffer].q;
        arch::mbarrier_arrive_expect_tx(full, kWarpRows * C.head_dim * int(sizeof(T)));
#pragma unroll
        for (int panel = 0; panel < TileQ::kPanels; ++panel)
          arch::tma_load(q.data, TileQ::panel(panel) + warp_row * TileQ::kPanel, p_.q,
                         {panel * TileQ::kPanel, (rows - group_) * kRows + warp_row,
                          head - sequence * p_.forward.heads.by, sequence},
                         full);
      }
    }
    arch::sync_warp();
  }

  /// S = Q K^T of the n-th key tile, for the warpgroup's rows.
  void multiply_qk(Scores& x, int n) const { Products::multiply_qk(x, q_tile(), s_.k[n % C.stages], group_); }
  /// O += P V.
  void multiply_pv(Outputs& o, const Weights& w, int n) const { Products::multiply_pv(o, w, s_.v[n % C.stages]); }

  int buffer() const { return now_.index() % Shared::kRowBuffers; }
  TileQ& q_tile() const { return s_.rows[arch::shuffle(now_.index(), 0) % Shared::kRowBuffers].q; }
  StageBarriers& k_of(int n) const { return s_.of_k[n % C.stages]; }
  StageBarriers& v_of(int n) const { return s_.of_v[n % C.stages]; }

  const Params& p_;
  Shared& s_;
  const int group_;
  const bool stay_;               // whether the thread block has whole heads
  WarpgroupRows<C> now_, asked_;  // the rows that are computed, and those whose copy is issued next
  int given_;                     // key tiles that the warp has released
};

}  // namespace flashfit
