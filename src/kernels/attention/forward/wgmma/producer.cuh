#pragma once
// The warp that copies Q, K and V tiles into shared memory, by TMA, as far ahead as there are slots.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/wgmma/shared.cuh"
#include "kernels/attention/forward/wgmma/works.cuh"

namespace flashfit {

template <ForwardConfig C>
class WgmmaProducer {
  using Params = WgmmaForwardParams;
  using Shared = WgmmaShared<C>;

 public:
  static void run(const Params& p, Shared& s) {
    int at = 0, works = 0;  // key tiles and tiles of rows so far
    for_each_work<C>(p, [&](const Work& work, int) {
      const Visibility visible(p.forward, work.queries, work.keys);
      const TileRange tiles = key_tiles<C>(p, work, visible);
      if (arch::elect_one()) copy(p, s, work, tiles, at, works);
      arch::sync_warp();
      at += tiles.end - tiles.begin;
      ++works;
    });
  }

 private:
  static void copy(const Params& p, Shared& s, const Work& work, TileRange tiles, int at, int works) {
    const int kv_head = p.forward.group.quotient(work.head);
    const int sequence = p.forward.cu_seqlens_q == nullptr ? work.sequence : 0;
    const auto copy_q = [&] {
      s.of_q.wait_empty(works);
      fill(s.rows.q, p.q, work.q_offset + work.first_row, work.head, sequence, s.of_q.full);
    };
    if (tiles.begin == tiles.end) return copy_q();
    for (int j = tiles.begin; j < tiles.end; ++j, ++at) {
      const int slot = at % C.stages, row = work.k_offset + j * C.block_n;
      s.of_k[slot].wait_empty(at / C.stages);
      fill(s.k[slot], p.k, row, kv_head, sequence, s.of_k[slot].full);
      if (j == tiles.begin) copy_q();
      s.of_v[slot].wait_empty(at / C.stages);
      fill(s.v[slot], p.v, row, kv_head, sequence, s.of_v[slot].full);
    }
  }

  template <class Tile>
  static void fill(Tile& s_tile, const TensorMap& map, int row, int head, int sequence, MBarrier& full) {
    arch::mbarrier_arrive_expect_tx(full, int(sizeof s_tile.data));
#pragma unroll
    for (int panel = 0; panel < Tile::kPanels; ++panel)
      arch::tma_load(s_tile.data, Tile::panel(panel), map, {panel * Tile::kPanel, row, head, sequence}, full);
  }
};

}  // namespace flashfit
