#pragma once
// The scheduler warp: it finds the block's jobs, ahead of the producer that copies their tiles. With sequences of
// different lengths, finding a job takes about as long as the products of two key tiles.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/wgmma/shared.cuh"
#include "kernels/attention/forward/wgmma/works.cuh"

namespace flashfit {

template <ForwardConfig C>
void find_jobs(const WgmmaForwardParams& p, WgmmaShared<C>& s) {
  Jobs<C> jobs(p);
  for (int n = 0;; ++n) {
    const Job job = jobs.next();
    const int slot = n % s.kFoundSlots;
    s.of_found[slot].wait_empty(n / s.kFoundSlots);
    arch::sync_warp();  // else the stage may be filled and emptied again before a slow lane has tested its barrier
    if (arch::lane() == 0) {
      s.found[slot].put(job);
      arch::mbarrier_arrive(s.of_found[slot].full);
    }
    arch::sync_warp();
    if (job.work.queries == 0) break;
  }
}

}  // namespace flashfit
