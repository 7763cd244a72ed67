#pragma once
// The scheduler warp: it finds the block's jobs, ahead of the producer that copies their tiles. With sequences of
// different lengths, finding a job takes about as long as the products of two key tiles.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/wgmma/shared.cuh"
#include "kernels/attention/forward/wgmma/works.cuh"

namespace flashfit {

template <ForwardConfig C>
void schedule_jobs(const WgmmaForwardParams& p, WgmmaShared<C>& s) {
  Jobs<C> jobs(p);
  for (int n = 0;; ++n) {
    const Job job = jobs.next();
    const int stage = n % s.kScheduledJobs;
    s.of_scheduled[stage].wait_empty(n / s.kScheduledJobs);
    arch::sync_warp();  // else the stage may be filled and emptied again before a slow lane has tested its barrier
    if (arch::lane() == 0) {
      s.scheduled[stage].put(job);
      arch::mbarrier_arrive(s.of_scheduled[stage].full);
    }
    arch::sync_warp();
    if (job.work.queries == 0) break;
  }
}

}  // namespace flashfit
