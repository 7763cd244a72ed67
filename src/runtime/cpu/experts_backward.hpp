#pragma once
// Gradients of a layer of experts for machines without a GPU.
#include "core/base/error.hpp"
#include "kernels/moe/experts/call.hpp"
#include "runtime/cpu/kernel.hpp"

namespace flashfit::cpu {

/// The gradients of `call`'s tensors, given that of out, `dout` [tokens, hidden] with rows `dout_row` elements apart.
/// Of what the call was told nothing is needed but its inputs: z and h are computed again. Arithmetic in fp32, each
/// gradient rounded once; the same bits in every run, on any number of threads. Thread safe. Errors: kOutOfMemory.
Result<void> experts_backward(const ExpertsCall& call, const void* dout, std::int64_t dout_row,
                              const ExpertsGradients& gradients);

/// The same on a given kernel and at most `threads` threads.
Result<void> experts_backward_on(const ExpertsCall& call, const void* dout, std::int64_t dout_row,
                                 const ExpertsGradients& gradients, const Kernel& kernel, int threads);

}  // namespace flashfit::cpu
