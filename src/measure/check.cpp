#include "measure/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "measure/filling.hpp"
#include "proof/reference/attention.hpp"
#include "proof/reference/forward_data.hpp"
#include "proof/reference/tensors.hpp"

namespace flashfit::measure {
namespace {

/// Some rows of one tensor, of one head each, one after the other, as the dtype stores them.
class Rows {
 public:
  Rows(const Case& c, const Place& place, Filled tensor, std::uint64_t seed)
      : c_(c), place_(place), tensor_(tensor), seed_(seed) {}

  void add(std::int64_t b, std::int64_t first, std::int64_t count, std::int64_t head) {
    const std::int64_t size = size_of(c_.dtype);
    auto at = static_cast<std::int64_t>(bytes_.size());
    bytes_.resize(bytes_.size() + count * place_.dim * size);
    for (std::int64_t row = first; row < first + count; ++row) {
      for (std::int64_t d = 0; d < place_.dim; ++d, at += size) {
        const float x = value_of(c_, place_, tensor_, seed_, b, row, head, d);
        largest_ = std::max(largest_, static_cast<double>(std::abs(x)));
        store(&bytes_[at], c_.dtype, x);
      }
    }
    rows_ += count;
  }
  std::int64_t rows() const { return rows_; }
  double largest() const { return largest_; }
  reference::View view() const { return {bytes_.data(), 0, place_.dim, 0, 1}; }

 private:
  const Case& c_;
  const Place& place_;
  Filled tensor_;
  std::uint64_t seed_;
  std::vector<std::byte> bytes_;
  std::int64_t rows_ = 0;
  double largest_ = 0;
};

/// The biases of the blocks, [block, row, key], and what of them the reference is told.
class Biases {
 public:
  Biases(const Case& c, const Place& place, std::uint64_t seed, const std::vector<RowBlock>& blocks)
      : element_(bias_bytes(c.bias.kind, c.dtype)) {
    for (const RowBlock& r : blocks) {
      rows_ = std::max(rows_, r.rows);
      keys_ = std::max(keys_, keys_of(c, r).count());
    }
    bytes_.resize(blocks.size() * static_cast<std::size_t>(rows_ * keys_ * element_));
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const RowBlock& r = blocks[i];
      const KeyRange keys = keys_of(c, r);
      for (std::int64_t row = 0; row < r.rows; ++row)
        for (std::int64_t key = keys.first; key < keys.last; ++key) {
          const auto at = ((static_cast<std::int64_t>(i) * rows_ + row) * keys_ + key - keys.first) * element_;
          store_bias(&bytes_[static_cast<std::size_t>(at)], c,
                     value_of(c, place, kBias, seed, c.bias.shared_batch ? 0 : r.sequence,
                              c.bias.shared_rows ? 0 : r.first_row + row, c.bias.shared_heads ? 0 : r.head,
                              c.bias.shared_keys ? 0 : key));
        }
    }
  }
  reference::Bias view(const Case& c) const {
    return {.data = bytes_.data(),
            .visible = c.bias.kind == BiasKind::kVisible,
            .dtype = c.bias.kind == BiasKind::kF32 ? DType::kF32 : c.dtype,
            .batch_stride = rows_ * keys_,
            .row_stride = keys_,
            .key_stride = 1};
  }

 private:
  std::int64_t element_, rows_ = 0, keys_ = 0;
  std::vector<std::byte> bytes_;
};

/// What fp64 says of the blocks, in their order: each is a sequence of one head, with the keys that it may see.
reference::Expected expected(const Case& c, const Placement& p, std::uint64_t seed,
                             const std::vector<RowBlock>& blocks) {
  Rows q(c, p.q, kQ, seed), k(c, p.k, kK, seed), v(c, p.v, kV, seed);
  reference::Problem problem{c.dtype, 1, 1, c.head_dim, c.causal, c.softmax_scale, {}};
  problem.head_dim_v = c.head_dim_v;
  problem.window_left = c.window_left;
  problem.window_right = c.window_right;
  problem.softcap = static_cast<float>(c.softcap);
  const std::vector<std::int32_t> before_q = offsets_of(c.lengths_q), before_k = offsets_of(c.lengths_k);
  std::vector<float> slopes, sinks;
  for (const RowBlock& r : blocks) {
    const auto sequence = static_cast<std::size_t>(r.sequence);
    const KeyRange keys = keys_of(c, r);
    const std::int64_t kv_head = r.head / (c.heads_q / c.heads_kv);
    // The first row stands at this key of the sequence, and so at another of those that are given.
    const std::int64_t stands = r.first_row + c.keys(sequence) - c.lengths_q[sequence] - keys.first;
    problem.sequences.push_back({.q_row = q.rows(),
                                 .k_row = k.rows(),
                                 .q_len = r.rows,
                                 .k_len = keys.count(),
                                 .left_out = keys.count() - r.rows - stands});
    const std::int64_t b = c.variable_length ? 0 : r.sequence;
    q.add(b, (c.variable_length ? before_q[sequence] : 0) + r.first_row, r.rows, r.head);
    const std::int64_t first_key = (c.variable_length ? before_k[sequence] : 0) + keys.first;
    k.add(b, first_key, keys.count(), kv_head);
    v.add(b, first_key, keys.count(), kv_head);
    slopes.push_back(alibi_slope(r.head, c.heads_q));
    sinks.push_back(sink_of(seed, r.head));
  }
  if (c.alibi) {
    problem.alibi_slopes = slopes.data();
    problem.alibi_batch_stride = 1;
  }
  if (c.sinks) {
    problem.sinks = sinks.data();
    problem.sinks_batch_stride = 1;
  }
  std::optional<Biases> biases;
  if (c.bias.kind != BiasKind::kNone) problem.bias = biases.emplace(c, p.bias, seed, blocks).view(c);
  reference::Expected e = reference::expect(problem, q.view(), k.view(), v.view(), v.largest());
  e.out_bound += (c.tolerance - 2) * e.naive_out_error;
  return e;
}

}  // namespace

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
      const bool copy =
          c.bias.kind == BiasKind::kNone &&
          reference::is_copy(visible_keys(c, static_cast<std::size_t>(r.sequence), r.first_row + i).count(), c.sinks,
                             e.exact.lse[index]);
      for (std::int64_t d = 0; d < c.head_dim_v; ++d)
        hold("out", r, i, d, reference::load(out, c.dtype, p.out.at(b, first + i, r.head) + d),
             e.exact.out[index * c.head_dim_v + d], copy ? 0 : e.out_bound, verdict.error);
    }
  }
  return verdict;
}

}  // namespace flashfit::measure
