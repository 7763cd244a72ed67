#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "emulated.hpp"

namespace flashfit::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
double tainted(double exact, std::int64_t row, std::int64_t column) {
  double sum = 0;
  for (const Taint& t : kTaints)
    if (t.column == column && t.key <= row) sum += t.value;
  return sum == 0 ? exact : sum;
}

}  // namespace

std::string containment_defect(const EmulatedForward& kernel, const emu::Options& options, int splits) {
  ForwardCase spec;
  spec.name = "containment";
  spec.dtype = kernel.variant->config.dtype;
  spec.head_dim = kernel.variant->config.head_dim;
  spec.head_dim_v = kernel.variant->config.head_dim_v;
  spec.heads_q = 2;
  spec.heads_kv = 1;
  spec.seqlens_q = spec.seqlens_k = {200};
  spec.causal = true;
  ForwardData clean = make_data(spec), data = make_data(spec);
  for (const Taint& t : kTaints) data.v.set(0, t.key, 0, t.column, t.value);
  for (ForwardData* const d : {&clean, &data})
    if (const auto ran = run(kernel, *d, options, {}, splits); !ran) return ran.error().message;
  if (const Verdict verdict = check(clean, expect(clean)); !verdict.ok) return verdict.message;
  // A row that is computed again is as exact, but not the same bits: two roundings apart at most.
  const double near = spec.dtype == DType::kF16 ? 0x1p-9 : 0x1p-6;
  for (std::int64_t head = 0; head < spec.heads_q; ++head)
    for (std::int64_t row = 0; row < 200; ++row)
      for (std::int64_t column = 0; column < spec.head_dim_v; ++column) {
        const double expected = tainted(clean.out.get(0, row, head, column), row, column);
        const double got = data.out.get(0, row, head, column);
        const bool right = std::isfinite(expected)
                               ? std::abs(got - expected) <= near * std::max(1.0, std::abs(expected))
                               : got == expected || (std::isnan(got) && std::isnan(expected));
        if (!right) return fmt::format("head {} row {} column {}: {} instead of {}", head, row, column, got, expected);
      }
  return {};
}

}  // namespace flashfit::testing
