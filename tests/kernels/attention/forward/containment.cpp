#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "emulated.hpp"
#include "kernels/attention/forward/plan/candidates.hpp"

namespace flashfit::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kRows = 200;

/// One value that is not finite, and the key and column where it lies.
struct Taint {
  std::int64_t key, column;
  double value;
};

// In the first tile of keys, in a low half alone, both signs in one column (together NaN), and on the diagonal's last
// row.
constexpr Taint kTaints[] = {{5, 3, kInfinity},   {5, 4, -kInfinity},   {31, 5, NAN},  {70, 8, NAN},
                             {130, 7, kInfinity}, {131, 7, -kInfinity}, {199, 31, NAN}};

/// What a taint makes of a row that sees it; one that does not is as without.
double tainted(double exact, const reference::Problem& problem, std::int64_t head, std::int64_t row,
               std::int64_t column) {
  double sum = 0;
  for (const Taint& t : kTaints)
    if (t.column == column && reference::sees(problem, 0, head, row, t.key)) sum += t.value;
  return sum == 0 ? exact : sum;
}

ForwardCase case_of(const ForwardConfig& c, const char* mask) {
  ForwardCase spec;
  spec.name = fmt::format("containment, {}", mask);
  spec.dtype = c.dtype;
  spec.head_dim = c.head_dim;
  spec.head_dim_v = c.head_dim_v;
  spec.seqlens_q = spec.seqlens_k = {kRows};
  return spec;
}

/// Every kind of mask that hides keys.
std::vector<ForwardCase> masks(const ForwardConfig& c) {
  std::vector<ForwardCase> all;
  all.push_back(case_of(c, "causal"));
  all.back().causal = true;
  all.push_back(case_of(c, "window to the right"));
  all.back().options.window_right = 40;
  all.push_back(case_of(c, "window to the left"));
  all.back().options.window_left = 62;
  all.push_back(case_of(c, "window to both sides"));
  all.back().options.window_left = 50, all.back().options.window_right = 9;
  all.push_back(case_of(c, "used keys"));
  all.back().options.seqused_k = {100};
  all.push_back(case_of(c, "bias"));
  all.back().options.bias = {
      .kind = BiasKind::kVisible, .own_heads = false, .in_pairs = c.engine == ForwardEngine::kWgmma};
  return all;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::string wrong_element(const ForwardCase& spec, std::int64_t head, std::int64_t row, std::int64_t column, double got,
                          double expected) {
  return fmt::format("{}: head {} row {} column {}: {} instead of {}", spec.name, head, row, column, got, expected);
}

std::string defect_under(const ForwardCase& spec, const EmulatedKernel& kernel, const emu::Options& options,
                         int splits) {
  ForwardData clean = make_data(spec), data = make_data(spec);
  for (const Taint& t : kTaints) data.v.set(0, t.key, 0, t.column, t.value);
  for (ForwardData* const d : {&clean, &data})
    if (const auto ran = run(kernel, *d, options, {}, splits); !ran) return ran.error().message;
  if (const Verdict verdict = check(clean, expect(clean)); !verdict.ok) return verdict.message;
  // A row that is computed again is as exact, but not the same bits: two roundings apart at most.
  const double near = spec.dtype == DType::kF16 ? 0x1p-9 : 0x1p-6;
  const reference::Problem problem = data.reference_problem();
  for (std::int64_t head = 0; head < spec.heads_q; ++head)
    for (std::int64_t row = 0; row < kRows; ++row)
      for (std::int64_t column = 0; column < spec.head_dim_v; ++column) {
        const double expected = tainted(clean.out.get(0, row, head, column), problem, head, row, column);
        const double got = data.out.get(0, row, head, column);
        const bool right = std::isfinite(expected)
                               ? std::abs(got - expected) <= near * std::max(1.0, std::abs(expected))
                               : same(got, expected);
        if (!right) return wrong_element(spec, head, row, column, got, expected);
      }
  return {};
}

constexpr std::int64_t kOverflowRow = 90;

/// Gives a row of head 0 a query whose product with the last key that it sees passes fp32: all its terms are positive.
void overflow(ForwardData& data) {
  const reference::Problem problem = data.reference_problem();
  std::int64_t key = kRows - 1;
  while (!reference::sees(problem, 0, 0, kOverflowRow, key)) --key;
  for (std::int64_t d = 0; d < data.spec.head_dim; ++d)
    data.q.set(0, kOverflowRow, 0, d, std::copysign(3e38, data.k.get(0, key, 0, d)));
}

/// A product past fp32 is infinite, and its row NaN, as inf - inf is: that row's, and as it is without in every other.
std::string overflow_defect_under(ForwardCase spec, const EmulatedKernel& kernel, const emu::Options& options,
                                  int splits) {
  spec.name = fmt::format("overflow, {}", spec.name);
  ForwardData clean = make_data(spec), data = make_data(spec);
  overflow(data);
  for (ForwardData* const d : {&clean, &data})
    if (const auto ran = run(kernel, *d, options, {}, splits); !ran) return ran.error().message;
  for (std::int64_t head = 0; head < spec.heads_q; ++head)
    for (std::int64_t row = 0; row < kRows; ++row) {
      const bool overflows = head == 0 && row == kOverflowRow;
      if (overflows != std::isnan(data.lse_at(0, row, head)))
        return fmt::format("{}: head {} row {}: LSE {}", spec.name, head, row, data.lse_at(0, row, head));
      for (std::int64_t column = 0; column < spec.head_dim_v; ++column) {
        const double expected = overflows ? NAN : clean.out.get(0, row, head, column);
        const double got = data.out.get(0, row, head, column);
        if (!same(got, expected)) return wrong_element(spec, head, row, column, got, expected);
      }
    }
  return {};
}

}  // namespace

std::string containment_defect(const EmulatedKernel& kernel, const emu::Options& options, int splits) {
  for (const ForwardCase& spec : masks(forward_variant_of(kernel.variant).config)) {
    if (!serves(forward_variant_of(kernel.variant).config, problem_of(spec))) continue;
    if (std::string defect = defect_under(spec, kernel, options, splits); !defect.empty()) return defect;
    // No product of fp16's numbers passes fp32. A row's own scores, which no mask changes: two masks tell.
    const bool overflows = spec.dtype == DType::kBF16 && (spec.causal || spec.options.bias.kind != BiasKind::kNone);
    if (!overflows) continue;
    if (std::string defect = overflow_defect_under(spec, kernel, options, splits); !defect.empty()) return defect;
  }
  return {};
}

}  // namespace flashfit::testing
