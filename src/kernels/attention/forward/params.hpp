#pragma once
// A checked call in the kernel's terms. Host only; the one place where ForwardParams are filled.
#include <cstdint>

#include "kernels/attention/forward_params.hpp"
#include "kernels/attention/problem.hpp"

namespace flashfit {

/// How a sequence's keys are cut, and where the parts' results go; as planned.
struct KeySplits {
  int splits = 1, tiles = 0;           ///< tiles of each part but the last, if there is more than one
  float *o = nullptr, *lse = nullptr;  ///< as ForwardParams::partial_*
};

/// The kernel's argument for a call that has query rows and heads, and whose sizes the plan took (they fit 32 bits).
/// `slots`: blocks per head, as planned.
ForwardParams forward_params(const ForwardCall& call, std::int64_t slots, const KeySplits& splits = {});

}  // namespace flashfit
