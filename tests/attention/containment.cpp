#include <fmt/format.h>

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
constexpr Taint kTaints[] = {{5, 3, kInfinity},   {5, 4, -kInfinity},   {31, 0, NAN},  {70, 8, NAN},
                             {130, 7, kInfinity}, {131, 7, -kInfinity}, {199, 31, NAN}};

double tainted(double clean, std::int64_t row, std::int64_t column) {
  double sum = 0;
  for (const Taint& t : kTaints)
    if (t.column == column && t.key <= row) sum += t.value;
  return sum == 0 ? clean : sum;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

std::string containment_defect(const EmulatedForward& kernel, const emu::Options& options) {
  ForwardCase spec;
  spec.name = "containment";
  spec.dtype = kernel.variant->config.dtype;
  spec.head_dim = kernel.variant->config.head_dim;
  spec.heads_q = spec.heads_kv = 1;
  spec.seqlens_q = spec.seqlens_k = {200};
  spec.causal = true;
  ForwardData clean = make_data(spec), data = make_data(spec);
  for (const Taint& t : kTaints) data.v.set(0, t.key, 0, t.column, t.value);
  for (ForwardData* const d : {&clean, &data})
    if (const auto ran = run(kernel, *d, options); !ran) return ran.error().message;
  for (std::int64_t row = 0; row < 200; ++row)
    for (std::int64_t column = 0; column < spec.head_dim; ++column) {
      const double expected = tainted(clean.out.get(0, row, 0, column), row, column);
      const double got = data.out.get(0, row, 0, column);
      if (!same(got, expected)) return fmt::format("row {} column {}: {} instead of {}", row, column, got, expected);
    }
  return {};
}

}  // namespace flashfit::testing
