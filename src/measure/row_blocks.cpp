#include "measure/row_blocks.hpp"

#include <algorithm>

#include "proof/reference/tensors.hpp"

namespace flashfit::measure {
namespace {

constexpr std::int64_t kBlockRows = 16;
constexpr std::size_t kFewestBlocks = 4;

double flop_of(const Case& c, const RowBlock& r) {
  return 2.0 * static_cast<double>(keys_of(c, r).count()) * static_cast<double>(r.rows * (c.head_dim + c.head_dim_v));
}

}  // namespace

KeyRange keys_of(const Case& c, const RowBlock& r) {
  // Ranges move on with the rows, and one without keys is where they begin: the first and the last hold all between.
  const auto sequence = static_cast<std::size_t>(r.sequence);
  const KeyRange first = visible_keys(c, sequence, r.first_row),
                 last = visible_keys(c, sequence, r.first_row + r.rows - 1);
  return {first.first, std::max(first.last, last.last)};
}

std::vector<RowBlock> sampled_rows(const Case& c, double flop, std::uint64_t seed) {
  std::vector<RowBlock> all;
  const auto sequences = static_cast<std::int64_t>(c.lengths_q.size());
  double whole = 0;
  for (std::int64_t s = 0; s < sequences; ++s) {
    for (std::int64_t h = 0; h < c.heads_q && c.lengths_q[s] > 0; ++h) {
      all.push_back({s, h, 0, c.lengths_q[s]});
      whole += flop_of(c, all.back());
    }
  }
  if (whole <= flop || all.empty()) return all;

  const auto longest =
      static_cast<std::int64_t>(std::max_element(c.lengths_q.begin(), c.lengths_q.end()) - c.lengths_q.begin());
  const double row = flop_of(c, {longest, 0, c.lengths_q[longest] - 1, 1});
  const std::int64_t rows =
      std::clamp(static_cast<std::int64_t>(flop / 8 / std::max(row, 1.0)), std::int64_t{1}, kBlockRows);
  const auto block = [&](std::int64_t s, std::int64_t h, std::int64_t first) {
    const std::int64_t count = std::min(rows, c.lengths_q[s]);
    return RowBlock{s, h, std::clamp<std::int64_t>(first, 0, c.lengths_q[s] - count), count};
  };
  std::vector<RowBlock> chosen{block(longest, 0, 0), block(longest, c.heads_q - 1, c.lengths_q[longest])};
  double spent = flop_of(c, chosen[0]) + flop_of(c, chosen[1]);
  reference::Random random(seed);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random.bits() % static_cast<std::uint64_t>(n));
  };
  while (spent < flop || chosen.size() < kFewestBlocks) {
    const RowBlock& head = all[below(static_cast<std::int64_t>(all.size()))];
    chosen.push_back(block(head.sequence, head.head, below(head.rows)));
    spent += flop_of(c, chosen.back()) + 1e4;  // a block without keys costs something too
  }
  return chosen;
}

}  // namespace flashfit::measure
