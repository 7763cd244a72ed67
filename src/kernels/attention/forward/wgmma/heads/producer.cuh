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
  const auto fill = [&](auto& tile, Handover& slot, int n, const TensorMap& map, int row, int head, int sequence) {
    slot.wait_empty(n / C.stages);
    arch::mbarrier_arrive_expect_tx(slot.full, int(sizeof tile.data));
#pragma unroll
    for (int panel = 0; panel < tile.kPanels; ++panel)
      arch::tma_load(tile.data, tile.panel(panel), map, {panel * tile.kPanel, row, head, sequence}, slot.full);
  };
  int n = 0;
  const auto copy_head = [&](int head, int tiles) {
    const int sequence = p.forward.heads.quotient(head);
    const int kv_head = p.forward.group.quotient(head - sequence * p.forward.heads.by);
    for (int j = tiles - 1; j >= 0; --j, ++n) {
      const int slot = n % C.stages;
      fill(s.k[slot], s.of_k[slot], n, p.k, j * C.block_n, kv_head, sequence);
      fill(s.v[slot], s.of_v[slot], n, p.v, j * C.block_n, kv_head, sequence);
    }
  };
  if (rounds.stay()) {
    for (int head = arch::block().x; head < p.all_heads; head += arch::grid().x) copy_head(head, rounds.longest(0));
    return;
  }
  for (DealtRounds dealt; dealt.head(p) < p.all_heads; dealt.next(p))
    copy_head(dealt.head(p), rounds.longest(dealt.round(p)));
}

}  // namespace flashfit
