#include "proof/emu/fused_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "core/base/half.hpp"

namespace flashfit::emu {
namespace {

constexpr int kMostTerms = 16;
constexpr int kLeastExponent = -126;  // of fp32; a zero's too
constexpr float kNaN = std::bit_cast<float>(0x7fffffffu);

/// x = significand * 2^exponent. The exponent is that of the format's leading bit, for subnormals the least one: that
/// is what the hardware aligns by.
struct Parts {
  double significand;
  int exponent;
};

Parts split(double x, int least_exponent) {
  const int exponent = x == 0 ? least_exponent : std::max(std::ilogb(x), least_exponent);
  return {std::ldexp(x, -exponent), exponent};
}

double widen(DType dtype, unsigned short bits) {
  return dtype == DType::kF16 ? to_float(f16{bits}) : to_float(bf16{bits});
}

/// Cut off after 24 significant bits, fewer for what is subnormal in fp32.
float cut_to_float(double x) {
  if (x == 0) return 0;
  const int exponent = std::max(std::ilogb(x), kLeastExponent);
  return static_cast<float>(std::ldexp(std::trunc(std::ldexp(x, 23 - exponent)), exponent - 23));
}

}  // namespace

float fused_sum(DType dtype, const unsigned short* a, const unsigned short* b, int b_stride, int terms, float c,
                int fraction_bits) {
  const int least_exponent = dtype == DType::kF16 ? -14 : kLeastExponent;
  Parts parts[kMostTerms + 1];
  double plain = c;
  for (int k = 0; k < terms; ++k) {
    const double left = widen(dtype, a[k]), right = widen(dtype, b[k * b_stride]);
    plain += left * right;
    if (!std::isfinite(left) || !std::isfinite(right)) continue;
    const Parts l = split(left, least_exponent), r = split(right, least_exponent);
    parts[k] = {l.significand * r.significand, left * right == 0 ? kLeastExponent : l.exponent + r.exponent};
  }
  if (std::isnan(plain)) return kNaN;
  if (std::isinf(plain)) return static_cast<float>(plain);
  parts[terms] = split(c, kLeastExponent);
  int top = kLeastExponent;
  for (int k = 0; k <= terms; ++k) top = std::max(top, parts[k].exponent);
  double sum = 0;  // of whole numbers below 2^32: exact
  for (int k = 0; k <= terms; ++k)
    sum += std::trunc(std::ldexp(parts[k].significand, parts[k].exponent - top + fraction_bits));
  return cut_to_float(std::ldexp(sum, top - fraction_bits));
}

}  // namespace flashfit::emu
