#pragma once
// The producer warp: it copies the Q, K and V tiles of the block's jobs into shared memory, by TMA, as far ahead as
// there are Q buffers and stages.
#include "kernels/arch/arch.hpp"
#include "kernels/arch/steps.hpp"
#include "kernels/attention/forward/wgmma/key_order.cuh"
#include "kernels/attention/forward/wgmma/shared.cuh"
#include "kernels/attention/forward/wgmma/works.cuh"

namespace flashfit {

template <ForwardConfig C>
class WgmmaProducer {
  using Params = WgmmaForwardParams;
  using Shared = WgmmaShared<C>;

 public:
  static void run(const Params& p, Shared& s) {
    int at = 0;  // key tiles so far
    for (int index = 0;; ++index) {
      const int stage = index % Shared::kScheduledJobs;
      s.of_scheduled[stage].wait_full(index / Shared::kScheduledJobs);
      const Job job = s.scheduled[stage].get();
      if constexpr (!copies_from_sectors(C)) s.of_scheduled[stage].release();
      if (arch::elect_one()) {
        if (copies_from_sectors(C) && p.start.is_between(p.forward.group.quotient(job.work.head)))
          copy<copies_from_sectors(C) ? kColumnsBetweenSectors : 0>(p, s, job, at, index);
        else
          copy<0>(p, s, job, at, index);
      }
      if constexpr (copies_from_sectors(C))
        s.of_scheduled[stage].release();  // not before: reading the job again takes fewer registers than keeping it
      else
        arch::sync_warp();
      if (job.work.queries == 0) break;
      at += job.tiles.end - job.tiles.begin;
    }
    if (arch::elect_one()) arch::let_next_step_begin();  // the combine kernel: its blocks find their rows meanwhile
  }

 private:
  /// kBefore: columns before the head's first one (head_start.hpp), a constant, as the few registers of this warpgroup
  /// are all taken.
  template <int kBefore>
  static void copy(const Params& p, Shared& s, const Job& job, int at, int index) {
    const int kv_head = p.forward.group.quotient(job.work.head);
    const int sequence = p.forward.cu_seqlens_q == nullptr ? job.work.sequence : 0;
    const auto hand_over = [&] {
      const int buffer = index % Shared::kRowBuffers;
      s.of_rows[buffer].wait_empty(index / Shared::kRowBuffers);
      Work work = job.work;
      if constexpr (copies_from_sectors(C)) {
        const SharedJob& from = s.scheduled[index % Shared::kScheduledJobs];
        s.jobs[buffer].put(from);
        work = from.get().work;
        arch::store_shared(s.before, buffer, kBefore);
      } else {
        s.jobs[buffer].put(job);
      }
      const int query = work.q_offset + TileRows<C.packs>::query(p.forward, work.first_row);
      if (work.queries == 0)
        arch::mbarrier_arrive(s.of_rows[buffer].full);
      else if (C.packs)  // the map's heads come before its queries
        fill<kBefore>(s.rows[buffer].q, p.q, work.head, query, sequence, s.of_rows[buffer].full);
      else
        fill<kBefore>(s.rows[buffer].q, p.q, query, work.head, sequence, s.of_rows[buffer].full);
    };
    const auto copy_k = [&](int row) {
      s.of_k[at % C.stages].wait_empty(at / C.stages);
      fill<kBefore>(s.k[at % C.stages], p.k, row, kv_head, sequence, s.of_k[at % C.stages].full);
    };
    const KeyOrder<C> order(p.forward, job);
    int position = job.tiles.begin, row = job.work.k_offset + order.tile(position) * C.block_n;
    const int end = at + job.tiles.end - job.tiles.begin;
    // Of three Q buffers one is free before the rings have room for keys. A single one is still in use then.
    const bool keys_first = Shared::kRowBuffers == 1 && at != end;
    if (keys_first) copy_k(row);
    hand_over();
    for (bool has_k = keys_first; at != end; ++at, row += order.to_next(position++) * C.block_n, has_k = false) {
      if (!has_k) copy_k(row);
      s.of_v[at % C.stages].wait_empty(at / C.stages);
      fill<kBefore>(s.v[at % C.stages], p.v, row, kv_head, sequence, s.of_v[at % C.stages].full);
    }
  }

  template <int kBefore, class Tile>
  static void fill(Tile& s_tile, const TensorMap& map, int row, int head, int sequence, MBarrier& full) {
    arch::mbarrier_arrive_expect_tx(full, int(sizeof s_tile.data));
#pragma unroll
    for (int panel = 0; panel < Tile::kPanels; ++panel)
      arch::tma_load(s_tile.data, Tile::panel(panel), map, {panel * Tile::kPanel - kBefore, row, head, sequence}, full);
  }
};

}  // namespace flashfit
