#pragma once
// The warp that copies the K and V tiles of the block's heads into shared memory, by TMA.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/wgmma/heads/rounds.cuh"
#include "kernels/attention/forward/wgmma/heads/shared.cuh"

namespace flashfit {

/// By one thread.
template <ForwardConfig C>
void copy_heads(const WgmmaForwardParams& p, WgmmaHeadsShared<C>& s) {
  const HeadRounds<C> rounds(p);
  Fills<C.stages> fills(rounds.longest(0));
  const auto fill = [&](auto& tile, Handover& slot, int j, const TensorMap& map, int head, int sequence) {
    slot.wait_empty(fills.of(j));
    arch::mbarrier_arrive_expect_tx(slot.full, int(sizeof tile.data));
#pragma unroll
    for (int panel = 0; panel < tile.kPanels; ++panel)
      arch::tma_load(tile.data, tile.panel(panel), map, {panel * tile.kPanel, j * C.block_n, head, sequence},
                     slot.full);
  };
  for (int head = arch::block().x; head < p.all_heads; head += arch::grid().x) {
    const int sequence = p.forward.heads.quotient(head);
    const int kv_head = p.forward.group.quotient(head - sequence * p.forward.heads.by);
    for (int round = 0; round < rounds.count(); ++round) {
      const TileRange fresh = rounds.fresh(round);
      for (int i = fresh.begin; i < fresh.end; ++i) {
        const int j = rounds.ascends(round) ? i : fresh.end - 1 - (i - fresh.begin), slot = j % C.stages;
        fill(s.k[slot], s.of_k[slot], j, p.k, kv_head, sequence);
        fill(s.v[slot], s.of_v[slot], j, p.v, kv_head, sequence);
      }
      fills.add(fresh);
    }
    fills.next_head();
  }
}

}  // namespace flashfit
