#pragma once
// The place of a config in the table of variants, from 0: tests that try a sample try another one on each row.
#include <algorithm>
#include <cstddef>

#include "kernels/attention/forward/variants.hpp"

namespace flashfit::testing {

inline std::size_t row_of(const ForwardConfig& c) {
  const auto rows = forward_variants();
  return static_cast<std::size_t>(std::ranges::find(rows, c, &ForwardVariant::config) - rows.begin());
}

}  // namespace flashfit::testing
