#include "proof/reference/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/half.hpp"

namespace flashfit::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
std::vector<Real> gather(DType dtype, std::int64_t dim, const View& t, std::int64_t batch, std::int64_t first,
                         std::int64_t rows, std::int64_t head) {
  std::vector<Real> all;
  all.reserve(rows * dim);
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t at = batch * t.batch_stride + (first + i) * t.row_stride + head * t.head_stride;
    for (std::int64_t d = 0; d < dim; ++d) all.push_back(static_cast<Real>(load(t.data, dtype, at + d * t.dim_stride)));
  }
  return all;
}

/// Query i stands at key i + shift: the last query at the last key.
std::int64_t shift(const Sequence& s) { return s.k_len - s.q_len - s.left_out; }

/// Keys that causal and window let query i see: [begin, end).
struct Range {
  std::int64_t begin, end;
};
Range range_of(const Problem& p, const Sequence& s, std::int64_t i) {
  const std::int64_t at = i + shift(s), right = p.causal ? 0 : p.window_right;
  const std::int64_t begin = p.window_left < 0 ? 0 : std::clamp<std::int64_t>(at - p.window_left, 0, s.k_len);
  const std::int64_t end = right < 0 ? s.k_len : std::clamp<std::int64_t>(at + right + 1, 0, s.k_len);
  return {begin, std::max(begin, end)};
}

/// What is added to the score; -inf where a bool says that the key is not seen.
double bias_of(const Bias& bias, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
  if (bias.data == nullptr) return 0;
  const std::int64_t at = b * bias.batch_stride + h * bias.head_stride + i * bias.row_stride + j * bias.key_stride;
  if (!bias.visible) return load(bias.data, bias.dtype, at);
  return static_cast<const unsigned char*>(bias.data)[at] != 0 ? 0 : -kInfinity;
}

/// One query row of one head, and the keys that it sees. Keys and values of all rows, keys transposed: [dim][k_len].
template <class Real>
struct Row {
  const Real *q, *kt, *v;
  std::int64_t k_len;
  Range range;
  std::int64_t batch, head, query, shift;
  std::int64_t index;  ///< its place in Output::lse

  /// sums[x] = sum over dim of product(q[dim], k[j][dim]) for key j = range.begin + x, in the order of dim.
  template <class Product>
  void over_keys(std::int64_t dim, std::vector<Real>& sums, Product product) const {
    const std::int64_t count = range.end - range.begin;
    sums.assign(count, 0);
    for (std::int64_t d = 0; d < dim; ++d) {
      const Real* const k = kt + d * k_len + range.begin;
      for (std::int64_t x = 0; x < count; ++x) sums[x] += product(q[d], k[x]);
    }
  }
};

/// A key that a row sees.
template <class Real>
struct Seen {
  std::int64_t key;
  Real score;
};

/// The scores of one row in Real, with `round` applied where a computation in the dtype would store a tensor.
template <class Real, class Round>
void score(const Problem& p, const Row<Real>& row, Round round, std::vector<Real>& sums,
           std::vector<Seen<Real>>& seen) {
  row.over_keys(p.head_dim, sums, [](Real a, Real b) { return a * b; });
  const auto cap = static_cast<Real>(p.softcap);
  const Real slope = p.alibi_slopes ? p.alibi_slopes[row.batch * p.alibi_batch_stride + row.head] : 0;
  seen.clear();
  for (std::size_t x = 0; x < sums.size(); ++x) {
    const std::int64_t j = row.range.begin + static_cast<std::int64_t>(x);
    const auto bias = static_cast<Real>(bias_of(p.bias, row.batch, row.head, row.query, j));
    if (bias == -kInfinity) continue;
    Real s = round(sums[x] * static_cast<Real>(p.softmax_scale));
    if (p.softcap > 0) s = round(cap * std::tanh(s / cap));
    if (p.alibi_slopes) s = round(s - slope * static_cast<Real>(std::abs(row.query + row.shift - j)));
    if (p.bias.data != nullptr && !p.bias.visible) s = round(s + bias);
    seen.push_back({j, s});
  }
}

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
void for_each_row(const Problem& p, const View& q, const View& k, const View* v, Visit visit) {
  std::int64_t first = 0;
  for (std::size_t b = 0; b < p.sequences.size(); ++b) {
    const Sequence& s = p.sequences[b];
    const auto batch = static_cast<std::int64_t>(b);
    for (std::int64_t h = 0; h < p.heads_q; ++h) {
      const std::int64_t kv_head = h / (p.heads_q / p.heads_kv);
      const auto qs = gather<Real>(p.dtype, p.head_dim, q, batch, s.q_row, s.q_len, h);
      const auto kt = transposed(gather<Real>(p.dtype, p.head_dim, k, batch, s.k_row, s.k_len, kv_head), p.head_dim);
      const auto vs =
          v == nullptr ? std::vector<Real>() : gather<Real>(p.dtype, p.dim_v(), *v, batch, s.k_row, s.k_len, kv_head);
      for (std::int64_t i = 0; i < s.q_len; ++i) {
        visit(Row<Real>{qs.data() + i * p.head_dim, kt.data(), vs.data(), s.k_len, range_of(p, s, i), batch, h, i,
                        shift(s), (first + i) * p.heads_q + h});
      }
    }
    first += s.q_len;
  }
}

Output empty_output(const Problem& p) {
  std::int64_t rows = 0;
  for (const Sequence& s : p.sequences) rows += s.q_len;
  return {std::vector<double>(rows * p.heads_q * p.dim_v(), 0.0), std::vector<double>(rows * p.heads_q, -kInfinity)};
}

/// -inf where there is none.
double sink_of(const Problem& p, std::int64_t batch, std::int64_t head) {
  return p.sinks ? p.sinks[batch * p.sinks_batch_stride + head] : -kInfinity;
}

/// Scores become weights that are not yet divided by their sum, which is returned with the largest score.
template <class Real>
struct Total {
  Real top, sum;
};
template <class Real>
Total<Real> softmax(double of_head, std::vector<Seen<Real>>& seen) {
  const auto sink = static_cast<Real>(of_head);
  Total<Real> total{sink, 0};
  for (const Seen<Real>& s : seen) total.top = std::max(total.top, s.score);
  if (sink != -kInfinity) total.sum = std::exp(sink - total.top);
  for (Seen<Real>& s : seen) total.sum += s.score = std::exp(s.score - total.top);
  return total;
}

/// The computation in Real, with `round` applied where a computation in the dtype would store a tensor, to scores
/// `round_score`.
template <class Real, class Round, class RoundScore>
Output attention_in(const Problem& p, const View& q, const View& k, const View& v, Round round,
                    RoundScore round_score) {
  Output result = empty_output(p);
  const std::int64_t dim = p.dim_v();
  std::vector<Real> dots, sums(dim);
  std::vector<Seen<Real>> seen;
  for_each_row<Real>(p, q, k, &v, [&](const Row<Real>& row) {
    score(p, row, round_score, dots, seen);
    const double sink = sink_of(p, row.batch, row.head);
    if (seen.empty() && sink == -kInfinity) return;
    const Total<Real> total = softmax(sink, seen);
    result.lse[row.index] = total.top + std::log(total.sum);
    std::fill(sums.begin(), sums.end(), Real{0});
    for (const Seen<Real>& s : seen) {
      const Real weight = round(s.score / total.sum);
      for (std::int64_t d = 0; d < dim; ++d) sums[d] += weight * row.v[s.key * dim + d];
    }
    for (std::int64_t d = 0; d < dim; ++d) result.out[row.index * dim + d] = round(sums[d]);
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
  const auto exact = [](double x) { return x; };
  return attention_in<double>(p, q, k, v, exact, exact);
}

Output naive_same_dtype(const Problem& p, const View& q, const View& k, const View& v) {
  const auto round = [dtype = p.dtype](float x) { return static_cast<float>(round_to(dtype, x)); };
  return attention_in<float>(p, q, k, v, round, round);
}

Output naive_wide_scores(const Problem& p, const View& q, const View& k, const View& v) {
  const auto round = [dtype = p.dtype](float x) { return static_cast<float>(round_to(dtype, x)); };
  return attention_in<float>(p, q, k, v, round, [](float x) { return x; });
}

double score_magnitude(const Problem& p, const View& q, const View& k) {
  const auto exact = [](double x) { return x; };
  double largest = 0;
  std::vector<double> sums, dots;
  std::vector<Seen<double>> seen;
  for_each_row<double>(p, q, k, nullptr, [&](const Row<double>& row) {
    score(p, row, exact, dots, seen);
    row.over_keys(p.head_dim, sums, [](double a, double b) { return std::abs(a * b); });
    double product = 0, later = 0;
    std::vector<double> rounded;
    for (const Seen<double>& s : seen) {
      const std::int64_t x = s.key - row.range.begin;
      double magnitude = sums[x] * p.softmax_scale, at = dots[x] * p.softmax_scale, of_steps = 0;
      if (p.softcap > 0) {
        const double tanh = std::tanh(at / p.softcap);
        magnitude *= 1 - tanh * tanh;
        at = p.softcap * tanh;
        of_steps += 3 * std::abs(at);
      }
      if (p.alibi_slopes) {
        const double slope = p.alibi_slopes[row.batch * p.alibi_batch_stride + row.head];
        const double distance = slope * static_cast<double>(std::abs(row.query + row.shift - s.key));
        at -= distance;
        of_steps += std::abs(distance) + std::abs(at);
      }
      if (p.bias.data != nullptr && !p.bias.visible) of_steps += std::abs(s.score);
      if (std::isfinite(magnitude)) product = std::max(product, magnitude);
      rounded.push_back(of_steps);
    }
    const double sink = sink_of(p, row.batch, row.head);
    const Total<double> total = softmax(sink, seen);
    for (std::size_t x = 0; x < seen.size(); ++x) later += rounded[x] * seen[x].score / total.sum;
    // Kernels have scores in units of log2: a sink is rounded when it becomes one, and the LSE when it leaves.
    if (std::isfinite(sink)) later += 2 * std::abs(sink) * std::exp(sink - total.top) / total.sum;
    largest = std::max(largest, product + (std::isfinite(later) ? later : 0));
  });
  return largest;
}

std::int64_t keys_seen(const Problem& p, std::int64_t sequence, std::int64_t head, std::int64_t query) {
  const Range range = range_of(p, p.sequences[sequence], query);
  if (p.bias.data == nullptr) return range.end - range.begin;
  std::int64_t count = 0;
  for (std::int64_t key = range.begin; key < range.end; ++key)
    count += bias_of(p.bias, sequence, head, query, key) != -kInfinity;
  return count;
}

bool sees(const Problem& p, std::int64_t sequence, std::int64_t head, std::int64_t query, std::int64_t key) {
  const Range range = range_of(p, p.sequences[sequence], query);
  return key >= range.begin && key < range.end && bias_of(p.bias, sequence, head, query, key) != -kInfinity;
}

}  // namespace flashfit::reference
