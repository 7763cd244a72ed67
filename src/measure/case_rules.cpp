#include "measure/case_rules.hpp"

#include <algorithm>
#include <cmath>

#include "proof/reference/tensors.hpp"

namespace flashfit::measure {
namespace {

constexpr std::int64_t kTextTokens = 58;
constexpr double kMostFlop = 20e9, kMostPlantedFlop = 2e9;

/// Lengths of an axis cut every `window` tokens; shifted, the first cut is at half a window. An axis of one window is
/// not shifted.
std::vector<std::int64_t> pieces(std::int64_t length, std::int64_t window, bool shifted) {
  const bool half = shifted && window < length;
  std::vector<std::int64_t> lengths;
  std::int64_t begin = 0;
  for (std::int64_t i = 0; begin < length; ++i) {
    const std::int64_t end = std::min(length, half ? (2 * i + 1) * window / 2 : (i + 1) * window);
    if (end > begin) lengths.push_back(end - begin);
    begin = end;
  }
  return lengths;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  bool one_in(std::uint64_t n) { return random_.bits() % n == 0; }
  std::int64_t of(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_.bits() % static_cast<std::uint64_t>(high - low + 1));
  }
  template <class T, std::size_t N>
  T one(const T (&choices)[N]) {
    return choices[random_.bits() % N];
  }
  /// Short ones as often as long ones, every third next to a multiple of 64.
  std::int64_t length() {
    const auto any = static_cast<std::int64_t>(std::exp2(random_.uniform() * 12));
    return one_in(3) ? std::max<std::int64_t>(1, ceil_div(any, 64) * 64 + of(-1, 1)) : std::max<std::int64_t>(1, any);
  }
  double uniform() { return random_.uniform(); }
  /// Of -most to most, to three digits.
  double signed_number(double most) { return std::round((2 * uniform() - 1) * most * 1000) / 1000; }

 private:
  reference::Random random_;
};

void shorten(Case& c, double most_flop) {
  while (work_of(c).flop > most_flop) {
    for (std::int64_t& n : c.lengths_q) n = ceil_div(n, 2);
    for (std::int64_t& n : c.lengths_k) n = ceil_div(n, 2);
  }
}

Case random_case(Draw& draw) {
  Case c;
  c.dtype = draw.one({DType::kF16, DType::kBF16});
  c.head_dim = c.head_dim_v = draw.one({32, 64, 128});
  c.heads_kv = draw.of(1, 8);
  c.heads_q = c.heads_kv * draw.one({1, 1, 2, 4, 8});
  c.causal = draw.one_in(2);
  c.variable_length = draw.one_in(4);
  const std::int64_t sequences = draw.of(1, 8);
  const bool self = draw.one_in(2);
  const std::int64_t queries = draw.length(), keys = self ? queries : draw.length();
  for (std::int64_t b = 0; b < sequences; ++b) {
    const std::int64_t q = c.variable_length ? draw.length() : queries;
    c.lengths_q.push_back(q);
    c.lengths_k.push_back(self ? q : c.variable_length ? draw.length() : keys);
  }
  const bool packs = self && c.heads_q == c.heads_kv;
  if (draw.one_in(2)) c.memory = draw.one({Memory::kPackedQkv, Memory::kHeadsFirst, Memory::kPaddedRows});
  if ((c.memory == Memory::kPackedQkv && !packs) || (c.memory == Memory::kHeadsFirst && c.variable_length))
    c.memory = Memory::kContiguous;
  if (draw.one_in(8)) c.softmax_scale = std::round(draw.uniform() * 500 + 1) / 1000;
  shorten(c, kMostFlop);
  return c;
}

/// Options of all kinds on a problem of random_case(), each in some of them.
void add_options(Case& c, Draw& draw) {
  if (draw.one_in(2)) c.head_dim = draw.of(1, 256);
  c.head_dim_v = draw.one_in(8) ? draw.of(1, 256) : c.head_dim;
  if (draw.one_in(3)) c.window_left = draw.one_in(4) ? 0 : draw.length();
  if (draw.one_in(4)) c.window_right = draw.one_in(4) ? 0 : draw.length();
  if (draw.one_in(4)) c.softcap = std::round(1 + draw.uniform() * 49);
  c.alibi = draw.one_in(4);
  c.sinks = draw.one_in(4);
  if (!c.variable_length && draw.one_in(3))
    c.bias = {.kind = draw.one({BiasKind::kVisible, BiasKind::kLikeQ, BiasKind::kF32}),
              .shared_batch = draw.one_in(2),
              .shared_heads = draw.one_in(2),
              .shared_rows = draw.one_in(4),
              .shared_keys = draw.one_in(8)};
  if (draw.one_in(4))
    for (const std::int64_t n : c.lengths_k) c.used_k.push_back(draw.of(0, n));
  if (draw.one_in(6) && c.memory == Memory::kContiguous) c.memory = Memory::kUnaligned;
  if (c.memory == Memory::kPackedQkv && c.head_dim_v != c.head_dim) c.memory = Memory::kContiguous;
}

/// Logits that random numbers do not give, on any problem. A shift in two of three, other things in some.
void plant(Case& c, Draw& draw) {
  c.planted.shift = draw.one_in(3) ? 0 : draw.signed_number(150);
  if (c.head_dim > 1 && draw.one_in(3)) c.planted.trend = draw.signed_number(200);
  if (c.head_dim > 2 && draw.one_in(4)) c.planted.peak = static_cast<double>(draw.of(1, 20));
  c.planted.opposes = draw.one_in(4);
  c.planted.positive_v = draw.one_in(2);
  for (double* const magnitude : {&c.magnitude, &c.magnitude_k, &c.magnitude_v})
    if (draw.one_in(4)) *magnitude = std::pow(10.0, static_cast<double>(draw.of(-3, 3)));
  if (c.variable_length && c.memory != Memory::kPackedQkv && draw.one_in(3)) c.spare_rows = draw.of(1, 130);
}

}  // namespace

std::vector<std::int64_t> falling_lengths(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> used;
  const auto count = static_cast<std::int64_t>(lengths.size());
  for (std::int64_t b = 0; b < count; ++b) {
    const std::int64_t all = lengths[static_cast<std::size_t>(b)];
    used.push_back(std::min(all, std::max<std::int64_t>(1, all * (count - b) / count)));
  }
  return used;
}

std::vector<std::int64_t> window_lengths(const Video& video, bool shifted) {
  const std::int64_t t = (video.frames - 1) / 4 + 1, h = video.height / 16, w = video.width / 16;
  const double scale = std::sqrt(45.0 * 80.0 / static_cast<double>(h * w));
  const auto third = [scale](std::int64_t n) { return ceil_div(std::lrint(static_cast<double>(n) * scale), 3); };
  std::vector<std::int64_t> lengths;
  for (const std::int64_t a : pieces(t, ceil_div(std::min<std::int64_t>(t, 30), 4), shifted))
    for (const std::int64_t b : pieces(h, third(h), shifted))
      for (const std::int64_t c : pieces(w, third(w), shifted)) lengths.push_back(a * b * c + kTextTokens);
  return lengths;
}

std::vector<Case> random_cases(std::int64_t count, std::uint64_t seed, const RandomKinds& kinds) {
  Draw draw(seed);
  std::vector<Case> cases;
  for (std::int64_t i = 0; i < count; ++i) {
    cases.push_back(random_case(draw));
    if (kinds.planted) shorten(cases.back(), kMostPlantedFlop);
    if (kinds.options) add_options(cases.back(), draw);
    if (kinds.planted) plant(cases.back(), draw);
  }
  return cases;
}

}  // namespace flashfit::measure
