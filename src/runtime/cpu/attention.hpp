#pragma once
// The backend for machines without a GPU.
#include "core/base/error.hpp"
#include "kernels/attention/problem.hpp"

namespace flashfit::cpu {

/// Runs `call`, whose pointers are host memory. fp16, bf16 and fp32, any head_dim; all arithmetic in fp32
/// (docs/numerics.md). The result does not depend on the number of threads: every CPU this process may run on, or
/// FLASHFIT_NUM_THREADS (1 to 1024; anything else is ignored), read at the first call. Thread safe. Error:
/// kOutOfMemory, and then nothing was written.
Result<void> attention_forward(const ForwardCall& call);

}  // namespace flashfit::cpu
