#pragma once
// Layers of experts for machines without a GPU.
#include "core/base/error.hpp"
#include "kernels/moe/experts/call.hpp"
#include "runtime/cpu/kernel.hpp"

namespace flashfit::cpu {

/// An expert of every token, whose result is added after those of the chosen ones.
struct SharedExpert {
  ExpertsCall call;            ///< of one expert: its weights, its intermediate; x, ids and out are not looked at
  const void* gate = nullptr;  ///< [hidden] of the call's dtype: y is multiplied by sigmoid(x . gate); nullptr: by 1
};

/// Runs `call`, whose pointers are host memory; arithmetic in fp32, each result rounded once. A token's result depends
/// neither on the tokens around it nor on the number of threads, which is attention_forward()'s. Thread safe. Errors:
/// kOutOfMemory. `shared`: or nullptr.
Result<void> experts(const ExpertsCall& call, const SharedExpert* shared = nullptr);

/// The same on a given kernel and at most `threads` threads.
Result<void> experts_on(const ExpertsCall& call, const SharedExpert* shared, const Kernel& kernel, int threads);

/// The experts without routing: rows offsets[e] to offsets[e + 1] of x are expert e's, for e from 0 to owned; out's row
/// r is the expert's y of x's row r. Rows before the first and past the last offset give 0. The call's problem has a
/// top_k of 1; its ids and weights are not looked at.
Result<void> grouped_mlp(const ExpertsCall& call, const std::int32_t* offsets);
Result<void> grouped_mlp_on(const ExpertsCall& call, const std::int32_t* offsets, const Kernel& kernel, int threads);

}  // namespace flashfit::cpu
