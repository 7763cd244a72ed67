#include "bench/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "reference/attention.hpp"
#include "reference/forward_data.hpp"
#include "reference/tensors.hpp"

namespace flashfit::bench {
namespace {

constexpr std::int64_t kBlockRows = 16;
constexpr std::size_t kFewestBlocks = 4;

/// Keys that the last of the block's rows sees; none where that would be less than none.
std::int64_t keys_of(const Case& c, const RowBlock& r) {
  const std::int64_t queries = c.lengths_q[r.sequence], keys = c.lengths_k[r.sequence];
  return c.causal ? std::clamp<std::int64_t>(keys - queries + r.first_row + r.rows, 0, keys) : keys;
}

double flop_of(const Case& c, const RowBlock& r) {
  return 4.0 * static_cast<double>(keys_of(c, r)) * static_cast<double>(r.rows * c.head_dim);
}

/// Some rows of one tensor, of one head each, one after the other, as the dtype stores them.
class Rows {
 public:
  Rows(const Case& c, const Place& place, int tensor, std::uint64_t seed)
      : c_(c), place_(place), tensor_(tensor), seed_(seed) {}

  void add(std::int64_t b, std::int64_t first, std::int64_t count, std::int64_t head) {
    const std::int64_t size = size_of(c_.dtype);
    auto at = static_cast<std::int64_t>(bytes_.size());
    bytes_.resize(bytes_.size() + count * c_.head_dim * size);
    for (std::int64_t row = first; row < first + count; ++row) {
      for (std::int64_t d = 0; d < c_.head_dim; ++d, at += size) {
        const float x = value_of(c_, place_, tensor_, seed_, b, row, head, d);
        largest_ = std::max(largest_, static_cast<double>(std::abs(x)));
        store(&bytes_[at], c_.dtype, x);
      }
    }
    rows_ += count;
  }
  std::int64_t rows() const { return rows_; }
  double largest() const { return largest_; }
  reference::View view() const { return {bytes_.data(), 0, c_.head_dim, 0, 1}; }

 private:
  const Case& c_;
  const Place& place_;
  int tensor_;
  std::uint64_t seed_;
  std::vector<std::byte> bytes_;
  std::int64_t rows_ = 0;
  double largest_ = 0;
};

/// What fp64 says of the blocks, in their order: each is a sequence of one head, with the keys that it may see.
reference::Expected expected(const Case& c, const Placement& p, std::uint64_t seed,
                             const std::vector<RowBlock>& blocks) {
  Rows q(c, p.q, 0, seed), k(c, p.k, 1, seed), v(c, p.v, 2, seed);
  reference::Problem problem{c.dtype, 1, 1, c.head_dim, c.causal, c.softmax_scale, {}};
  const std::vector<std::int32_t> before_q = offsets_of(c.lengths_q), before_k = offsets_of(c.lengths_k);
  for (const RowBlock& r : blocks) {
    const std::int64_t keys = keys_of(c, r), kv_head = r.head / (c.heads_q / c.heads_kv);
    problem.sequences.push_back({q.rows(), k.rows(), r.rows, keys});
    const std::int64_t b = c.variable_length ? 0 : r.sequence;
    q.add(b, (c.variable_length ? before_q[r.sequence] : 0) + r.first_row, r.rows, r.head);
    const std::int64_t first_key = c.variable_length ? before_k[r.sequence] : 0;
    k.add(b, first_key, keys, kv_head);
    v.add(b, first_key, keys, kv_head);
  }
  reference::Expected e = reference::expect(problem, q.view(), k.view(), v.view(), v.largest());
  e.out_bound += (c.tolerance - 2) * e.naive_out_error;
  return e;
}

}  // namespace

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
  const double row = 4.0 * static_cast<double>(c.lengths_k[longest] * c.head_dim);
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

Verdict check(const Case& c, const Placement& p, std::uint64_t seed, std::span<const std::byte> results, bool with_lse,
              double flop) {
  Verdict verdict;
  verdict.message = misplaced_writes(c, p, results, with_lse);
  const std::vector<RowBlock> blocks = sampled_rows(c, flop, seed);
  if (blocks.empty()) return verdict;
  const reference::Expected e = expected(c, p, seed, blocks);
  verdict.bound = e.out_bound;
  verdict.lse_bound = e.lse_bound;
  const auto hold = [&](const char* what, const RowBlock& r, std::int64_t i, std::int64_t d, double got, double want,
                        double bound, double& largest) {
    const double error = reference::error_of(got, want);
    largest = std::max(largest, error);
    if (!(error <= bound) && verdict.message.empty())
      verdict.message = fmt::format("{} of sequence {}, row {}, head {}, dim {} is {}, not {} within {:.3g}", what,
                                    r.sequence, r.first_row + i, r.head, d, got, want, bound);
  };
  const std::byte* const out = results.data() + (p.out.offset - p.results);
  const std::byte* const lse = results.data() + (p.lse - p.results);
  const std::vector<std::int32_t> before = offsets_of(c.lengths_q);
  std::size_t index = 0;
  for (const RowBlock& r : blocks) {
    const std::int64_t b = c.variable_length ? 0 : r.sequence,
                       first = (c.variable_length ? before[r.sequence] : 0) + r.first_row;
    for (std::int64_t i = 0; i < r.rows; ++i, ++index) {
      float got_lse = 0;
      std::memcpy(&got_lse, lse + ((b * p.out.heads + r.head) * p.out.rows + first + i) * sizeof(float), sizeof(float));
      if (with_lse) hold("lse", r, i, 0, got_lse, e.exact.lse[index], e.lse_bound, verdict.lse_error);
      for (std::int64_t d = 0; d < c.head_dim; ++d)
        hold("out", r, i, d, reference::load(out, c.dtype, p.out.at(b, first + i, r.head) + d),
             e.exact.out[index * c.head_dim + d], e.out_bound, verdict.error);
    }
  }
  return verdict;
}

}  // namespace flashfit::bench
