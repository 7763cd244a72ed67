#pragma once
// A consumer warpgroup: it computes 64 of a tile's rows.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/output.cuh"
#include "kernels/attention/forward/wgmma/key_order.cuh"
#include "kernels/attention/forward/wgmma/late_bases.cuh"
#include "kernels/attention/forward/wgmma/products.cuh"
#include "kernels/attention/forward/wgmma/register_output.cuh"
#include "kernels/attention/forward/wgmma/scores.cuh"
#include "kernels/attention/forward/wgmma/shared.cuh"
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
  using Order = KeyOrder<C>;
  using Products = WgmmaProducts<C>;
  /// The end of rows is that of plain ones: those with a base past kMostBase are computed again. With a bias it is not,
  /// as a bias may be as large as that in rows that are no one's.
  static constexpr ForwardConfig kEnd = [] {
    ForwardConfig end = C;
    end.kind = C.kind == ForwardKind::kBias ? C.kind : ForwardKind::kPlain;
    return end;
  }();
  static constexpr int kRows = kWarpgroupRows;
  static constexpr int kN = C.block_n, kD = C.head_dim_v;
  /// Ping-pong: warpgroups issue their products in turn, so that the products of one run while the others compute
  /// weights. Where products take much longer than weights, that happens without; with softcap, weights take long at
  /// any head_dim.
  static constexpr bool kPingPong = C.head_dim_v <= 128 || C.kind == ForwardKind::kGeneral;
  static constexpr int kGroups = C.warps / 4;
  /// Rows may see nothing of their first tiles, whatever the mask: keys come in another order, or a bias hides them.
  static constexpr bool kMayLackBase = Order::kDown || C.kind == ForwardKind::kBias;
  static constexpr int kTurn = 1;  // named barriers: a warpgroup's turn is kTurn + its index
  static constexpr int kClear = kTurn + kGroups;

 public:
  static void run(const Params& p, Shared& s) { WgmmaConsumer(p, s).run(); }

 private:
  using Scores = typename Products::Scores;
  using Outputs = typename Products::Outputs;
  using Weights = typename Products::Weights;

  static constexpr int kNone = -1;
  /// What is left of a job when the loop over its keys has ended: the last P V, whose weights are computed, and the
  /// epilogue. That P V runs together with the next job's first Q K^T.
  struct Unfinished {
    int tile;  ///< the key tile of the last P V; kNone if that is done
    bool is_stored;
    RowState rows[1][2];
  };

  WgmmaConsumer(const Params& p, Shared& s) : p_(p), s_(s), group_(arch::warp() / 4), at_(0), jobs_(0) {}

  void run() {
    Outputs o;
    Weights w;
    Unfinished last;
    last.tile = kNone;
    last.is_stored = true;
    Products::zero(o);
    if (kPingPong && group_ == kGroups - 1) pass_turn();
    for (;; ++jobs_) {
      const int buffer = jobs_ % Shared::kRowBuffers;
      s_.of_rows[buffer].wait_full(jobs_ / Shared::kRowBuffers);
      const Job job = s_.jobs[buffer].get();
      if constexpr (Shared::kRowBuffers > 1) {
        if (job.tiles.begin == job.tiles.end || last.tile == kNone) [[unlikely]]
          finish(o, w, last, jobs_ - 1);
      }
      if (job.work.queries == 0) break;
      attend(job, o, w, last);
    }
  }

  /// A job's rows. What only few tiles need is not here, in registers, but is read from shared memory again.
  struct Rows {
    int first;  ///< number of key tile 0, as the block counts
    /// Key tiles of which each of the warp's rows sees all keys. In those before, rows may see their first ones.
    TileRange whole;
    Order order;
    WgmmaScores<C> scores;
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
              .order = Order(p_.forward, job),
              .scores = WgmmaScores<C>(p_, job.work),
              .state = {}};
    clear(rows.state);
    // The warpgroup's tiles end before `end`. There is one even if its rows see nothing of it.
    const int seen = group_row < rows_q ? (visible.count(group_last) + kN - 1) / kN : 0;
    const int end = clamp(seen, job.tiles.begin < job.tiles.end ? job.tiles.begin + 1 : job.tiles.end, job.tiles.end);

    // Positions of the warpgroup's tiles.
    const int own_begin = Order::kDown ? job.tiles.begin + (job.tiles.end - end) : job.tiles.begin;
    const int own_end = Order::kDown ? job.tiles.end : end;

    if (job.tiles.begin < job.tiles.end) {
      if constexpr (Order::kDown) {
        if (own_begin - job.tiles.begin >= C.stages) [[unlikely]]
          finish(o, w, last, jobs_ - 1);  // V of the last P V holds a stage that tiles to come need
        pass_over(job, rows, job.tiles.begin, own_begin);
      }
      constexpr bool kMayBePending = Shared::kRowBuffers > 1;
      if (kMayBePending && last.tile != kNone) [[likely]]
        step<true, kMayBePending>(rows, own_begin, o, w, last);
      else
        step<true, false>(rows, own_begin, o, w, last);
      if constexpr (Order::kDown) clear_after(rows, own_begin);
      for (int j = own_begin + 1; j < own_end; ++j) {
        step<false, true>(rows, j, o, w, last);
        if constexpr (Order::kDown) clear_after(rows, j);
      }
      last.tile = rows.first + own_end - 1;
      job = this->job();
      if (!Order::kDown && end == job.tiles.end) {
        v_of(last.tile).wait_full(last.tile / C.stages);
        clear_rows_past_end(job, last.tile);
      }
    }
    last.is_stored = false;
#pragma unroll
    for (int h = 0; h < 2; ++h) last.rows[0][h] = rows.state[0][h];
    if constexpr (Shared::kRowBuffers == 1) {
      const int before = columns_before(0);
      s_.of_rows[0].release();  // for the next Q, which comes while the last product and the output are made
      if (last.tile != kNone) multiply_last(o, w, last);
      store_from_registers(o, last, job.work, before);
    } else {
      if (!Order::kDown && job.tiles.end - end >= C.stages) [[unlikely]]  // as above
        multiply_last(o, w, last);
    }
    if constexpr (!Order::kDown) pass_over(job, rows, end, job.tiles.end);
    at_ = rows.first + job.tiles.end;
  }
  /// Releases, unread, the key tiles at positions from `from` to before `to`: only other warpgroups' rows see them.
  void pass_over(const Job& job, const Rows& rows, int from, int to) {
    for (int j = from; j < to; ++j) {
      const int n = rows.first + j;
      k_of(n).wait_full(n / C.stages);
      take_turn();
      pass_turn();
      k_of(n).release();
      v_of(n).wait_full(n / C.stages);
      if (rows.order.tile(j) + 1 == job.tiles.end) clear_rows_past_end(job, n);
      v_of(n).release();
    }
  }
  /// Zeroes the rows past the end in the V tile at position j, if it has the last key, once its weights are computed.
  void clear_after(const Rows& rows, int j) const {
    if (!rows.order.is_last(j)) return;
    const int n = rows.first + j;
    v_of(n).wait_full(n / C.stages);
    clear_rows_past_end(job(), n);
  }
  SharedJob& shared_job() const { return s_.jobs[jobs_ % Shared::kRowBuffers]; }
  Job job() const { return shared_job().get(); }

  /// Scores of the warp's rows with keys from first_key on, of a key tile, from products; or, if kWeighs, maybe weights
  /// at once, and their sums: then true.
  template <bool kWeighs, class Tile>
  bool finish_scores(Tile& c, float (&sums)[1][2], const Rows& rows, int tile, int first_key) const {
    const bool is_whole = tile >= rows.whole.begin && tile < rows.whole.end;
    const auto hide = [&] {
      if (is_whole) return;
      const Work work = job().work;
      mask(c, work.first_row + Warp::first_row(), first_key, Visible(p_.forward, work.queries, work.keys));
    };
    if (rows.scores.template make<kWeighs>(c, sums, rows.state, p_, shared_job(), first_key, is_whole, hide))
      return true;
    hide();
    return false;
  }
  /// Scores times this are in units of log2.
  float scale_log2() const { return WgmmaScores<C>::kInLog2 ? 1.f : p_.scale_log2; }

  /// The rows' key tile at position j: kFirst if it is their first, kPending if there is a P V to issue, of the tile
  /// before or of the job before. Branches that only a first tile needs would cost the main loop 3 %: hence two copies.
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
    float sums[1][2];
    if (!finish_scores<!kFirst>(scores, sums, rows, rows.order.tile(j), rows.order.tile(j) * kN)) {
      if constexpr (kFirst) {
        take_first_bases<T>(scores, rows.state, scale_log2());
      } else if (kMayLackBase) {
        if (lacks_base(rows.state)) take_missing_bases<T>(scores, rows.state, scale_log2());
      } else if (j < rows.whole.begin) {
        arch::wgmma_wait<0>(o);
        if (exceeds_base<T>(scores, rows.state, scale_log2()))
          follow_maximum<T>(scores, outputs, rows.state, scale_log2());
      }
      exponentiate(scores, sums, rows.state, scale_log2());
    }
    const bool are_late = !kFirst && sums_pass<T>(sums);
    if (!are_late) k_of(n).release();
    if constexpr (kPending) {
      arch::wgmma_wait<0>(o);
      v_of(before).release();
    }
    if (are_late) [[unlikely]] {
      LateRows late = follow_weights<T>(scores, sums, rows.state);
      Products::round(w, x);
      const int tile =
          arch::shuffle(rows.order.tile(j), 0);  // else the compiler computes in the loop what only this path needs
      if (arch::ballot(late.lost[0] || late.lost[1]) != 0)
        Products::weigh_again(
            w, sums, late, [&]() -> TileQ& { return q_tile(); }, s_.k[n % C.stages], scale_log2(),
            [&](auto& c, int key) { finish_scores<false>(c, sums, rows, tile, tile * kN + key); });
      k_of(n).release();
      follow_bases(outputs, rows.state, late);
    } else {
      Products::round(w, x);
    }
    if constexpr (kFirst && kPending) store(o, last, jobs_ - 1);
    rows.state[0][0].sum += sums[0][0];
    rows.state[0][1].sum += sums[0][1];
  }

  /// The last P V of a job.
  void multiply_last(Outputs& o, Weights& w, Unfinished& last) {
    const int n = arch::shuffle(last.tile, 0);
    v_of(n).wait_full(n / C.stages);
    arch::wgmma_fence(o, w);
    multiply_pv(o, w, n);
    arch::wgmma_wait<0>(o);
    v_of(n).release();
    last.tile = kNone;
  }
  /// All that is left of the job before, if anything.
  void finish(Outputs& o, Weights& w, Unfinished& last, int index) {
    if (last.tile != kNone) multiply_last(o, w, last);
    if (!last.is_stored) store(o, last, index);
    last.is_stored = true;
  }

  /// Columns of the tile before the first one of the head's output.
  int columns_before(int buffer) const { return copies_from_sectors(C) ? arch::load_shared(s_.before, buffer) : 0; }
  static void leave_out(Outputs& o, int before) {
    if (!copies_from_sectors(C) || before == 0) return;
    // The head's columns are the next tile's of 8: that is 4 accumulators.
#pragma unroll
    for (int i = 0; i + 4 < kD / 2; ++i) o[i] = o[i + 4];
  }

  /// Epilogue of a kernel with one Q buffer, which the next Q may already be in.
  void store_from_registers(Outputs& o, Unfinished& last, const Work& work, int before) {
    leave_out(o, before);
    ForwardParams whole = p_.forward;
    whole.splits = 1;  // so that the compiler omits the code of split-KV
    if constexpr (takes_parts(C)) {
      if (p_.forward.splits > 1)
        Output<kEnd>::store(s_.rows[0].o, as_m16(o), last.rows, work, p_.forward);  // partial results
      else
        RegisterOutput<kEnd>::store(as_m16(o), last.rows, work, whole);
    } else {
      RegisterOutput<kEnd>::store(as_m16(o), last.rows, work, whole);
    }
    last.is_stored = true;
    Products::zero(o);
  }

  /// Epilogue of the block's job with that number, through its Q buffer.
  void store(Outputs& o, const Unfinished& last, int index) {
    static_assert(Shared::kRowBuffers > 1 && !has_wide_tiles(C), "the output is as wide as its tile");
    const int buffer = index % Shared::kRowBuffers;
    leave_out(o, columns_before(buffer));
    const Work work = s_.jobs[buffer].get().work;
    if constexpr (takes_parts(C)) {
      Output<kEnd>::store(s_.rows[buffer].o, as_m16(o), last.rows, work, p_.forward);
    } else {
      ForwardParams whole = p_.forward;
      whole.splits = 1, whole.unaligned = 0;  // so that the compiler omits the code of these
      Output<kEnd>::store(s_.rows[buffer].o, as_m16(o), last.rows, work, whole);
    }
    arch::fence_proxy_async();  // TMA overwrites what has been stored
    s_.of_rows[buffer].release();
    Products::zero(o);
  }

  /// S = Q K^T of the n-th key tile, for the warpgroup's rows.
  void multiply_qk(Scores& x, int n) const { Products::multiply_qk(x, q_tile(), s_.k[n % C.stages], group_); }
  /// O += P V.
  void multiply_pv(Outputs& o, const Weights& w, int n) const { Products::multiply_pv(o, w, s_.v[n % C.stages]); }

  /// Zeroes the rows of a V tile past the sequence's last key. TMA copied them from the next sequence, or from keys
  /// that seqused_k excludes, and a weight of 0 times a NaN there would be NaN. All consumers call it together.
  void clear_rows_past_end(const Job& job, int n) const {
    const int past = job.tiles.end * kN - job.work.keys;
    if (past <= 0 || (p_.forward.cu_seqlens_k == nullptr && p_.forward.seqused_k == nullptr)) return;
    constexpr int kChunks = TileV::kPanel / 8;
    for (int i = arch::thread(); i < past * kChunks * TileV::kPanels; i += C.warps * 32) {
      const int line = i / kChunks, panel = line / past, row = kN - past + line - panel * past;
      arch::store_shared(s_.v[n % C.stages].data, TileV::offset(row, panel * TileV::kPanel + i % kChunks * 8),
                         Bytes16{});
    }
    arch::fence_proxy_async();
    arch::named_barrier_sync(kClear, C.warps * 32);
  }

  TileQ& q_tile() const { return s_.rows[arch::shuffle(jobs_, 0) % Shared::kRowBuffers].q; }
  StageBarriers& k_of(int n) const { return s_.of_k[n % C.stages]; }
  StageBarriers& v_of(int n) const { return s_.of_v[n % C.stages]; }
  void take_turn() {
    if constexpr (kPingPong) arch::named_barrier_sync(kTurn + group_, 256);
  }
  void pass_turn() {
    if constexpr (kPingPong) arch::named_barrier_arrive(kTurn + (group_ + 1 < kGroups ? group_ + 1 : 0), 256);
  }

  const Params& p_;
  Shared& s_;
  const int group_;
  int at_, jobs_;  // key tiles and jobs so far
};

}  // namespace flashfit
