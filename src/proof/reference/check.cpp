#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "proof/reference/forward_data.hpp"
#include "proof/reference/roundoff.hpp"

namespace flashfit::reference {
namespace {

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double x : values) {
    if (std::isfinite(x)) most = std::max(most, std::abs(x));
  }
  return most;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (std::isfinite(difference)) most = std::max(most, difference);
  }
  return most;
}

/// Whether something that is a number is none in a plain computation: its scores passed the dtype's range.
bool overflowed(const std::vector<double>& plain, const std::vector<double>& exact) {
  for (std::size_t i = 0; i < plain.size(); ++i)
    if (std::isfinite(exact[i]) && !std::isfinite(plain[i])) return true;
  return false;
}

double largest_value(const Tensor& t) {
  double most = 0;
  for (std::int64_t b = 0; b < t.batch; ++b) {
    for (std::int64_t r = 0; r < t.rows; ++r) {
      for (std::int64_t h = 0; h < t.heads; ++h) {
        for (std::int64_t d = 0; d < t.dim; ++d) {
          if (const double x = std::abs(t.get(b, r, h, d)); std::isfinite(x)) most = std::max(most, x);
        }
      }
    }
  }
  return most;
}

}  // namespace

double error_of(double got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : HUGE_VAL;
  if (got == want) return 0;
  const double error = std::abs(got - want);
  return std::isnan(error) ? HUGE_VAL : error;
}

Expected expect(const ForwardData& data) {
  return expect(data.reference_problem(), data.q.reference_view(), data.k.reference_view(), data.v.reference_view(),
                largest_value(data.v));
}

Expected expect(const Problem& p, const View& q, const View& k, const View& v, double largest_v) {
  Expected e;
  e.exact = attention(p, q, k, v);
  Output naive = naive_same_dtype(p, q, k, v);
  if (overflowed(naive.lse, e.exact.lse)) naive = naive_wide_scores(p, q, k, v);
  e.naive_out_error = largest_difference(naive.out, e.exact.out);
  e.naive_lse_error = largest_difference(naive.lse, e.exact.lse);
  const double score_rounding = 0x1p-24 * score_magnitude(p, q, k);
  e.out_bound = 2 * e.naive_out_error + unit_roundoff(p.dtype) * largest(e.exact.out) +
                (0x1p-24 + 2 * score_rounding) * largest_v;
  e.lse_bound = 2 * e.naive_lse_error + 0x1p-24 * largest(e.exact.lse) + score_rounding;
  return e;
}

Verdict check(const ForwardData& data, const Expected& expected) {
  const ForwardCase& c = data.spec;
  const Problem problem = data.reference_problem();
  Verdict verdict;
  const auto refuse = [&](const char* what, std::int64_t b, std::int64_t i, std::int64_t h, std::int64_t d, double got,
                          double want, double bound) {
    if (verdict.message.empty()) {
      verdict.message = fmt::format("{}: {} of sequence {}, row {}, head {}, dim {} is {}, not {} within {:.3g}",
                                    c.name, what, b, i, h, d, got, want, bound);
    }
  };
  std::int64_t index = 0;
  for (std::size_t s = 0; s < c.seqlens_q.size(); ++s) {
    const auto b = static_cast<std::int64_t>(s);
    const std::int64_t first = c.variable_length ? data.cu_seqlens_q[s] : 0;
    for (std::int64_t i = 0; i < c.seqlens_q[s]; ++i) {
      for (std::int64_t h = 0; h < c.heads_q; ++h, ++index) {
        const double lse = data.lse_at(b, i, h), want_lse = expected.exact.lse[index];
        const double lse_error = error_of(lse, want_lse);
        verdict.lse_error = std::max(verdict.lse_error, lse_error);
        if (lse_error > expected.lse_bound) refuse("lse", b, i, h, 0, lse, want_lse, expected.lse_bound);
        const bool copy = is_copy(keys_seen(problem, b, h, i), problem.sinks != nullptr, want_lse);
        const double out_bound = copy ? 0 : expected.out_bound;
        for (std::int64_t d = 0; d < c.dim_v(); ++d) {
          const double got = data.out.get(c.variable_length ? 0 : b, first + i, h, d),
                       want = expected.exact.out[index * c.dim_v() + d];
          const double error = error_of(got, want);
          verdict.out_error = std::max(verdict.out_error, error);
          if (error > out_bound) refuse("out", b, i, h, d, got, want, out_bound);
        }
      }
    }
  }
  if (const std::string outside = data.written_outside(); verdict.message.empty() && !outside.empty())
    verdict.message = fmt::format("{}: {}, which is outside of its elements, was written", c.name, outside);
  verdict.ok = verdict.message.empty();
  return verdict;
}

}  // namespace flashfit::reference
