#pragma once
// The activation of a layer of experts, as each struct of flashfit.h that has one gives it.
#include <limits>

#include "flashfit/flashfit.h"
#include "kernels/moe/experts/problem.hpp"
#include "runtime/api/refuse.hpp"

namespace flashfit::api {

inline Result<Activation> activation_of(std::int32_t given) {
  if (given < FLASHFIT_SWIGLU || given > FLASHFIT_RELU2)
    return refuse("activation: {}; accepted: FLASHFIT_SWIGLU (0) to FLASHFIT_RELU2 (4)", given);
  return static_cast<Activation>(given);
}

/// Its numbers, of which 0 is the default. They were checked before.
template <class Args, class Problem>
void read_activation_numbers(const Args& a, Problem& p) {
  p.alpha = a.alpha == 0 ? 1 : a.alpha;
  p.limit = a.limit == 0 ? std::numeric_limits<float>::infinity() : a.limit;
  p.shift = a.shift;
}

}  // namespace flashfit::api
