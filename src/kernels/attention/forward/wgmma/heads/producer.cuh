#pragma once
// The producer: it copies the K and V tiles of the block's heads into shared memory, by TMA, the last keys first.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/wgmma/heads/rounds.cuh"
#include "kernels/attention/forward/wgmma/heads/shared.cuh"

namespace flashfit {

/// By one thread.
template <ForwardConfig C>
void copy_heads(const WgmmaForwardParams& p, WgmmaHeadsShared<C>& s) {
  const HeadRounds<C> rounds(p);
  const auto fill = [&](auto& tile, StageBarriers& stage, int n, const TensorMap& map, int row, int head,
                        int sequence) {
    stage.wait_empty(n / C.stages);
    arch::mbarrier_arrive_expect_tx(stage.full, int(sizeof tile.data));
#pragma unroll
    for (int panel = 0; panel < tile.kPanels; ++panel)
      arch::tma_load(tile.data, tile.panel(panel), map, {panel * tile.kPanel, row, head, sequence}, stage.full);
  };
  int n = 0;
  const auto copy_head = [&](int head, int tiles) {
    const int sequence = p.forward.heads.quotient(head);
    const int kv_head = p.forward.group.quotient(head - sequence * p.forward.heads.by);
    for (int j = tiles - 1; j >= 0; --j, ++n) {
      const int stage = n % C.stages;
      fill(s.k[stage], s.of_k[stage], n, p.k, j * C.block_n, kv_head, sequence);
      fill(s.v[stage], s.of_v[stage], n, p.v, j * C.block_n, kv_head, sequence);
    }
  };
  if (rounds.stay()) {
    for (int head = arch::block().x; head < p.all_heads; head += arch::grid().x) copy_head(head, rounds.longest(0));
    return;
  }
  for (AssignedRounds assigned; assigned.head(p) < p.all_heads; assigned.next(p))
    copy_head(assigned.head(p), rounds.longest(assigned.round(p)));
}

}  // namespace flashfit
