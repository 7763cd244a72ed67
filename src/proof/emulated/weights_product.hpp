#pragma once
// The products that give gradients of experts' weights on the CPU, as forward.hpp has the forward's.
#include <vector>

#include "proof/emulated/kernel.hpp"

namespace flashfit::emulated {

/// Every variant of the table, in its order.
const std::vector<EmulatedKernel>& emulated_weights_products();

}  // namespace flashfit::emulated
