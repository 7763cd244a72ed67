#pragma once
// Cases whose rows have several tiles of keys, for kernels with options that say which keys a row begins with.
#include <cstdint>
#include <utility>
#include <vector>

#include "emulated.hpp"

namespace flashfit::testing {

/// Of a variant's dtype and head_dims: both sides of the diagonal, causal masks, a window, few queries, and sequences
/// of uneven lengths.
inline std::vector<ForwardCase> long_rows(const ForwardConfig& c) {
  std::vector<ForwardCase> cases;
  const auto add = [&](const char* name, std::vector<std::int64_t> queries, std::vector<std::int64_t> keys,
                       int heads) -> ForwardCase& {
    ForwardCase& spec = cases.emplace_back();
    spec.name = name;
    spec.dtype = c.dtype;
    spec.head_dim = c.head_dim;
    spec.head_dim_v = c.head_dim_v;
    spec.heads_q = heads;
    spec.heads_kv = heads / 2;
    spec.seqlens_q = std::move(queries);
    spec.seqlens_k = std::move(keys);
    return spec;
  };
  add("keys on both sides of the diagonal", {390}, {390}, 4);
  add("causal", {270}, {400}, 4).causal = true;
  add("causal, more queries than keys", {300}, {140}, 2).causal = true;
  ForwardCase& window = add("window to both sides", {390}, {390}, 2);
  window.options.window_left = 150, window.options.window_right = 70;
  // The second half of a tile has no rows, and passes over all keys but the last few.
  add("few queries, many keys", {50, 50}, {650, 650}, 4);
  ForwardCase& ragged = add("keys in use of uneven sequences", {200, 0, 50}, {400, 5, 650}, 2);
  ragged.variable_length = true;
  ragged.options.seqused_k = {300, 3, 520};
  return cases;
}

}  // namespace flashfit::testing
