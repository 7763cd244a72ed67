#pragma once
// The backend with its choices open, for tests.
#include "core/base/error.hpp"
#include "kernels/attention/problem.hpp"
#include "runtime/cpu/kernel.hpp"

namespace flashfit::cpu {

/// attention_forward on a given kernel and at most `threads` threads. Error: kOutOfMemory.
Result<void> attention_forward_on(const ForwardCall& call, const Kernel& kernel, int threads);

}  // namespace flashfit::cpu
