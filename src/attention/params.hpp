#pragma once
// A checked call in the kernel's terms. Host only; the one place where ForwardParams are filled.
#include <cstdint>

#include "attention/config.hpp"
#include "attention/problem.hpp"

namespace flashfit {

/// The kernel's argument for a call that has query rows and heads, and whose sizes the plan took (they fit 32 bits).
/// `slots`: blocks per head, as planned.
ForwardParams forward_params(const ForwardCall& call, std::int64_t slots);

}  // namespace flashfit
