#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/half.hpp"
#include "emulated.hpp"
#include "kernels/attention/forward/plan/candidates.hpp"

namespace flashfit::testing {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();
constexpr std::int64_t kQueries = 45, kKeys = 200, kLateKey = 150, kNanKey = 10;

/// A row's biases are of one of five kinds. `lowest`: the lowest number of the bias' type.
double bias_of(std::int64_t row, std::int64_t key, double lowest) {
  switch (row % 5) {
    case 1:
      return key % 3 == 0 ? lowest : kHidden;
    case 2:
      return key == kLateKey ? 0 : lowest;
    case 3:
      return kHidden;
    case 4:
      return key == kNanKey ? NAN : lowest;
    default:
      return lowest;
  }
}

/// Beside so low a bias the scores are nothing: a row is the mean of the values whose bias is its largest.
double expected_of(const ForwardData& data, std::int64_t row, std::int64_t column, double lowest) {
  double largest = kHidden, sum = 0, count = 0;
  for (std::int64_t key = 0; key < kKeys; ++key) {
    const double bias = bias_of(row, key, lowest);
    if (std::isnan(bias)) return NAN;
    if (bias > largest) largest = bias, sum = count = 0;
    if (bias == largest && bias != kHidden) sum += data.v.get(0, key, 0, column), ++count;
  }
  return count == 0 ? 0 : sum / count;
}

ForwardData make_low(const ForwardConfig& c, BiasKind kind, double lowest) {
  ForwardCase spec;
  spec.name = kind == BiasKind::kF32 ? "lowest fp32 biases" : "lowest biases";
  spec.dtype = c.dtype;
  spec.head_dim = c.head_dim;
  spec.head_dim_v = c.head_dim_v;
  spec.heads_q = 2;
  spec.seqlens_q = {kQueries};
  spec.seqlens_k = {kKeys};
  spec.options.bias = {.kind = kind, .own_heads = false, .holes = false, .in_pairs = c.engine == ForwardEngine::kWgmma};
  ForwardData data = make_data(spec);
  const reference::BiasMemory& to = data.options.bias;
  for (std::int64_t row = 0; row < kQueries; ++row)
    for (std::int64_t key = 0; key < kKeys; ++key) {
      const auto bias = static_cast<float>(bias_of(row, key, lowest));
      const std::int64_t at = row * to.row_stride + key * to.key_stride;
      if (kind == BiasKind::kF32) {
        std::memcpy(data.options.bias.bytes.data() + at * 4, &bias, 4);
      } else {
        const bf16 half = from_float<bf16>(bias);
        std::memcpy(data.options.bias.bytes.data() + at * 2, &half.bits, 2);
      }
    }
  return data;
}

std::string defect_of(const EmulatedKernel& kernel, const emu::Options& options, BiasKind kind, double lowest,
                      int splits) {
  const ForwardConfig& c = forward_variant_of(kernel.variant).config;
  ForwardData data = make_low(c, kind, lowest);
  if (!serves(c, data.problem())) return "not served: " + data.spec.name;
  if (const auto ran = run(kernel, data, options, {}, splits); !ran) return ran.error().message;
  const double near = c.dtype == DType::kF16 ? 0x1p-9 : 0x1p-7;
  for (std::int64_t head = 0; head < 2; ++head)
    for (std::int64_t row = 0; row < kQueries; ++row) {
      const bool has_lse = row % 5 < 3;
      if (std::isfinite(data.lse_at(0, row, head)) != has_lse)
        return fmt::format("{}: head {} row {}: LSE {}", data.spec.name, head, row, data.lse_at(0, row, head));
      for (std::int64_t column = 0; column < data.spec.dim_v(); ++column) {
        const double expected = expected_of(data, row, column, lowest), got = data.out.get(0, row, head, column);
        // A part's LSE has no place for how many keys it had: such a row is some mean of its parts.
        const double off = splits > 1 && row % 5 < 2 ? 1 : near * std::max(1.0, std::abs(expected));
        const bool right = std::isnan(expected) ? std::isnan(got) : std::abs(got - expected) <= off;
        if (!right)
          return fmt::format("{}: head {} row {} column {}: {} instead of {}", data.spec.name, head, row, column, got,
                             expected);
      }
    }
  return {};
}

}  // namespace

std::string low_bias_defect(const EmulatedKernel& kernel, const emu::Options& options, int splits) {
  const double lowest = std::numeric_limits<float>::lowest();
  if (std::string defect = defect_of(kernel, options, BiasKind::kF32, lowest, splits); !defect.empty()) return defect;
  // The lowest of fp16 is no number that units of log2 lack.
  if (forward_variant_of(kernel.variant).config.dtype != DType::kBF16) return {};
  return defect_of(kernel, options, BiasKind::kLikeQ, -0x1.fep127, splits);
}

}  // namespace flashfit::testing
