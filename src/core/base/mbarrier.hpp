#pragma once
// The mbarrier object. Neutral: structs of shared memory hold it, kernels hand it to `arch`, which alone knows its
// bits.

namespace flashfit {

/// 8 bytes of shared memory that count arrivals and bytes of asynchronous copies, phase by phase (PTX ISA, "mbarrier").
struct alignas(8) MBarrier {
  unsigned long long state;
};

}  // namespace flashfit
