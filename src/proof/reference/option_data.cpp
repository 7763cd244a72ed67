#include "proof/reference/option_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/half.hpp"
#include "proof/reference/tensors.hpp"

namespace flashfit::reference {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();  ///< what a bias says of a key that is not seen
constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
// Of bytes it makes a NaN in every dtype, and of a bool what must not be read as one.
constexpr unsigned char kPoison = 0xff;

Guarded<float> make_slopes(Slopes which, const OptionSizes& s, Random& random) {
  if (which == Slopes::kNone) return {};
  Guarded<float> all(static_cast<std::size_t>(which == Slopes::kOfHeads ? s.heads : s.batch * s.heads), kNan);
  std::generate_n(all.data(), all.size(), [&] { return static_cast<float>(0.5 * random.uniform()); });
  return all;
}

Guarded<float> make_sinks(Sinks which, const OptionSizes& s, Random& random) {
  if (which == Sinks::kNone) return {};
  Guarded<float> all(static_cast<std::size_t>(s.heads), kNan);
  for (std::int64_t h = 0; h < s.heads; ++h) {
    const float extremes[] = {80, -80, -kInfinity, static_cast<float>(random.normal())};
    all.data()[h] = which == Sinks::kExtreme ? extremes[h % 4] : static_cast<float>(2 * random.normal());
  }
  return all;
}

void store(unsigned char* to, BiasKind kind, DType dtype, double value) {
  const auto x = static_cast<float>(value);
  if (kind == BiasKind::kVisible) {
    *to = static_cast<unsigned char>(value != kHidden);
  } else if (kind == BiasKind::kF32 || dtype == DType::kF32) {
    std::memcpy(to, &x, sizeof x);
  } else {
    const unsigned short half = dtype == DType::kF16 ? from_float<f16>(x).bits : from_float<bf16>(x).bits;
    std::memcpy(to, &half, sizeof half);
  }
}

/// Holes where rows of a multiple and a rest meet: whole rows, keys, and one in eight of the others.
bool is_hole(std::int64_t row, std::int64_t key, Random& random) {
  const bool here = random.bits() % 8 == 0;
  return here || row % 11 == 3 || key % 7 == 5;
}

/// What is hard for a kernel whose rows keep the base of their first tile of keys. Of six kinds, a warp's 16 rows have
/// two: some kinds take an emulated kernel long.
double steep_value(std::int64_t row, std::int64_t key, BiasKind kind) {
  const double mask = kind == BiasKind::kF32 ? -1e9 : -3e4;  // what some add in the place of -inf
  switch ((row / 16 + row % 2) % 6) {
    case 1:
      return key < 200 ? kHidden : 0;
    case 2:
      return kHidden;
    case 3:
      return 0.3 * static_cast<double>(key);
    case 4:
      return key < 150 ? mask : 0;
    case 5:
      return mask;
    default:
      return 0;
  }
}

BiasMemory make_bias(const BiasCase& which, const OptionSizes& s, Random& random) {
  if (which.kind == BiasKind::kNone) return {};
  const std::int64_t batch = which.own_batch ? s.batch : 1, heads = which.own_heads ? s.heads : 1,
                     rows = which.own_rows ? s.rows : 1, keys = which.own_keys ? s.keys : 1;
  BiasMemory bias;
  bias.kind = which.kind;
  // Lines end in poison, of an odd number of elements: nothing lies on a boundary.
  // But for pairs.
  const std::int64_t dense = which.transposed ? rows : keys;
  const std::int64_t line = which.in_pairs ? dense + 2 + dense % 2 : dense + 3, lines = which.transposed ? keys : rows;
  const std::int64_t strides[] = {heads * lines * line, lines * line, which.transposed ? 1 : line,
                                  which.transposed ? line : 1};
  bias.batch_stride = which.own_batch ? strides[0] : 0;
  bias.head_stride = which.own_heads ? strides[1] : 0;
  bias.row_stride = which.own_rows ? strides[2] : 0;
  bias.key_stride = which.own_keys ? strides[3] : 0;
  const int size = bias_bytes(which.kind, s.dtype);
  bias.bytes = {static_cast<std::size_t>(std::max<std::int64_t>(batch * strides[0], 1) * size), kPoison};
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < keys; ++j) {
          const double value =
              2 * random.normal() + (which.steep ? steep_value(which.own_rows ? i : 1, j, which.kind) : 0);
          const bool hole = which.holes && is_hole(which.own_rows ? i : 0, which.own_keys ? j : 0, random);
          const std::int64_t at = b * strides[0] + h * strides[1] + i * strides[2] + j * strides[3];
          store(bias.bytes.data() + at * size, which.kind, s.dtype, hole ? kHidden : value);
        }
      }
    }
  }
  return bias;
}

}  // namespace

OptionData make_option_data(const OptionCase& options, const OptionSizes& s, std::uint64_t seed) {
  Random random(seed ^ 0x6f7074696f6e73);  // not the numbers of q, k and v again
  OptionData data;
  data.alibi_slopes = make_slopes(options.alibi, s, random);
  data.alibi_batch_stride = options.alibi == Slopes::kOfBatchAndHeads ? s.heads : 0;
  data.sinks = make_sinks(options.sinks, s, random);
  data.bias = make_bias(options.bias, s, random);
  data.seqused_k = {options.seqused_k.size(), std::numeric_limits<std::int32_t>::max()};
  std::copy(options.seqused_k.begin(), options.seqused_k.end(), data.seqused_k.data());
  return data;
}

void set_options(ForwardProblem& p, const OptionCase& options) {
  p.window_left = options.window_left;
  p.window_right = options.window_right;
  p.softcap = options.softcap > 0;
  p.alibi = options.alibi != Slopes::kNone;
  p.sinks = options.sinks != Sinks::kNone;
  p.used_keys = !options.seqused_k.empty();
  p.bias = options.bias.kind;
  p.bias_by_element = p.bias != BiasKind::kNone && !options.bias.in_pairs;
  p.batch_invariant = options.batch_invariant;
}

void set_options(ForwardCall& call, const OptionCase& options, const OptionData& data) {
  call.softcap = static_cast<float>(options.softcap);
  call.alibi_slopes = data.alibi_slopes.data();
  call.alibi_batch_stride = data.alibi_batch_stride;
  call.sinks = data.sinks.data();
  call.seqused_k = data.seqused_k.data();
  call.bias = data.bias.bytes.data();
  call.bias_batch_stride = data.bias.batch_stride;
  call.bias_head_stride = data.bias.head_stride;
  call.bias_row_stride = data.bias.row_stride;
  call.bias_key_stride = data.bias.key_stride;
}

void set_options(Problem& p, const OptionCase& options, const OptionData& data) {
  p.window_left = options.window_left;
  p.window_right = options.window_right;
  p.softcap = static_cast<float>(options.softcap);
  p.alibi_slopes = data.alibi_slopes.data();
  p.alibi_batch_stride = data.alibi_batch_stride;
  p.sinks = data.sinks.data();
  const BiasMemory& b = data.bias;
  if (b.kind == BiasKind::kNone) return;
  p.bias = {.data = b.bytes.data(),
            .visible = b.kind == BiasKind::kVisible,
            .dtype = b.kind == BiasKind::kF32 ? DType::kF32 : p.dtype,
            .batch_stride = b.batch_stride,
            .head_stride = b.head_stride,
            .row_stride = b.row_stride,
            .key_stride = b.key_stride};
}

}  // namespace flashfit::reference
