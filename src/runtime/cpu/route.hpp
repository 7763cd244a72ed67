#pragma once
// The router for machines without a GPU.
#include "kernels/moe/route/problem.hpp"
#include "runtime/cpu/kernel.hpp"

namespace flashfit::cpu {

/// Runs `call`, whose pointers are host memory; arithmetic in fp32. The result does not depend on the number of
/// threads, which is attention_forward()'s. Thread safe.
void route(const RouteCall& call);

/// The same on a given kernel and at most `threads` threads.
void route_on(const RouteCall& call, const Kernel& kernel, int threads);

}  // namespace flashfit::cpu
