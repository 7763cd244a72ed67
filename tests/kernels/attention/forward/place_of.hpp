#pragma once
// The place of a config in the table of variants, from 0: tests that try a sample try another one on each variant.
#include <algorithm>
#include <cstddef>

#include "kernels/attention/forward/variants.hpp"

namespace flashfit::testing {

inline std::size_t place_of(const ForwardConfig& c) {
  const auto variants = forward_variants();
  return static_cast<std::size_t>(std::ranges::find(variants, c, &ForwardVariant::config) - variants.begin());
}

}  // namespace flashfit::testing
