#include "reference/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/half.hpp"

namespace flashfit::reference {
namespace {

double round_to(DType dtype, float x) {
  switch (dtype) {
    case DType::kF16:
      return to_float(from_float<f16>(x));
    case DType::kBF16:
      return to_float(from_float<bf16>(x));
    case DType::kF32:
      break;
  }
  return x;
}

/// `rows` rows from `first` on of one head of one sequence, gathered.
template <class Real>
std::vector<Real> gather(const Problem& p, const View& t, std::int64_t batch, std::int64_t first, std::int64_t rows,
                         std::int64_t head) {
  std::vector<Real> all;
  all.reserve(rows * p.head_dim);
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t at = batch * t.batch_stride + (first + i) * t.row_stride + head * t.head_stride;
    for (std::int64_t d = 0; d < p.head_dim; ++d)
      all.push_back(static_cast<Real>(load(t.data, p.dtype, at + d * t.dim_stride)));
  }
  return all;
}

std::int64_t visible(const Problem& p, const Sequence& s, std::int64_t i) {
  return p.causal ? std::clamp<std::int64_t>(i + s.k_len - s.q_len + 1, 0, s.k_len) : s.k_len;
}

/// One query row of one head. Keys and values of all rows, keys transposed: [dim][k_len].
template <class Real>
struct Row {
  const Real *q, *kt, *v;
  std::int64_t k_len, keys, index;  ///< keys: how many it sees; index: its place in Output::lse

  /// sums[j] = sum over dim of product(q[dim], k[j][dim]) for the keys that it sees, in the order of dim.
  template <class Product>
  void over_keys(std::int64_t dim, std::vector<Real>& sums, Product product) const {
    sums.assign(keys, 0);
    for (std::int64_t d = 0; d < dim; ++d) {
      for (std::int64_t j = 0; j < keys; ++j) sums[j] += product(q[d], kt[d * k_len + j]);
    }
  }
};

template <class Real>
std::vector<Real> transposed(const std::vector<Real>& rows, std::int64_t dim) {
  const auto count = static_cast<std::int64_t>(rows.size()) / dim;
  std::vector<Real> columns(rows.size());
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t d = 0; d < dim; ++d) columns[d * count + i] = rows[i * dim + d];
  }
  return columns;
}

template <class Real, class Visit>
void for_each_row(const Problem& p, const View& q, const View& k, const View& v, Visit visit) {
  std::int64_t first = 0;
  for (std::size_t b = 0; b < p.sequences.size(); ++b) {
    const Sequence& s = p.sequences[b];
    const auto batch = static_cast<std::int64_t>(b);
    for (std::int64_t h = 0; h < p.heads_q; ++h) {
      const std::int64_t kv_head = h / (p.heads_q / p.heads_kv);
      const auto qs = gather<Real>(p, q, batch, s.q_row, s.q_len, h);
      const auto kt = transposed(gather<Real>(p, k, batch, s.k_row, s.k_len, kv_head), p.head_dim);
      const auto vs = gather<Real>(p, v, batch, s.k_row, s.k_len, kv_head);
      for (std::int64_t i = 0; i < s.q_len; ++i) {
        visit(Row<Real>{qs.data() + i * p.head_dim, kt.data(), vs.data(), s.k_len, visible(p, s, i),
                        (first + i) * p.heads_q + h});
      }
    }
    first += s.q_len;
  }
}

Output empty_output(const Problem& p) {
  std::int64_t rows = 0;
  for (const Sequence& s : p.sequences) rows += s.q_len;
  return {std::vector<double>(rows * p.heads_q * p.head_dim, 0.0),
          std::vector<double>(rows * p.heads_q, -std::numeric_limits<double>::infinity())};
}

/// The computation in Real, with `round` applied where a computation in the dtype would store a tensor.
template <class Real, class Round>
Output attention_in(const Problem& p, const View& q, const View& k, const View& v, Round round) {
  Output result = empty_output(p);
  std::vector<Real> weights, sums(p.head_dim);
  for_each_row<Real>(p, q, k, v, [&](const Row<Real>& row) {
    if (row.keys == 0) return;
    row.over_keys(p.head_dim, weights, [](Real a, Real b) { return a * b; });
    for (Real& w : weights) w = round(w * static_cast<Real>(p.softmax_scale));
    const Real top = *std::max_element(weights.begin(), weights.end());
    Real total = 0;
    for (Real& w : weights) total += w = std::exp(w - top);
    result.lse[row.index] = top + std::log(total);
    std::fill(sums.begin(), sums.end(), Real{0});
    for (std::int64_t j = 0; j < row.keys; ++j) {
      const Real weight = round(weights[j] / total);
      for (std::int64_t d = 0; d < p.head_dim; ++d) sums[d] += weight * row.v[j * p.head_dim + d];
    }
    for (std::int64_t d = 0; d < p.head_dim; ++d) result.out[row.index * p.head_dim + d] = round(sums[d]);
  });
  return result;
}

}  // namespace

double load(const void* data, DType dtype, std::int64_t index) {
  switch (dtype) {
    case DType::kF16:
      return to_float(static_cast<const f16*>(data)[index]);
    case DType::kBF16:
      return to_float(static_cast<const bf16*>(data)[index]);
    case DType::kF32:
      break;
  }
  return static_cast<const float*>(data)[index];
}

Output attention(const Problem& p, const View& q, const View& k, const View& v) {
  return attention_in<double>(p, q, k, v, [](double x) { return x; });
}

Output naive_same_dtype(const Problem& p, const View& q, const View& k, const View& v) {
  return attention_in<float>(p, q, k, v, [dtype = p.dtype](float x) { return static_cast<float>(round_to(dtype, x)); });
}

double score_magnitude(const Problem& p, const View& q, const View& k) {
  double largest = 0;
  std::vector<double> sums;
  for_each_row<double>(p, q, k, k, [&](const Row<double>& row) {
    row.over_keys(p.head_dim, sums, [](double a, double b) { return std::abs(a * b); });
    for (const double sum : sums) {
      if (std::isfinite(sum)) largest = std::max(largest, sum * p.softmax_scale);
    }
  });
  return largest;
}

}  // namespace flashfit::reference
