// Arithmetic of 16-bit floats, one or two in a register (PTX ISA, "Half Precision Floating Point Instructions"): each
// result is computed in fp32 and rounded once more, which for one sum or product gives the same; fma in fp64.
#include <cmath>
#include <limits>

#include "base/half.hpp"
#include "ptx/lanes.hpp"

namespace flashfit::ptx {
namespace {

struct Add {
  float operator()(float a, float b) const { return a + b; }
};
struct Sub {
  float operator()(float a, float b) const { return a - b; }
};
struct Mul {
  float operator()(float a, float b) const { return a * b; }
};
/// Of a NaN and a number the number; +0 is more than -0.
struct Max {
  float operator()(float a, float b) const {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    return a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
  }
};
struct Min {
  float operator()(float a, float b) const {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    return a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
  }
};

/// The nearest number of the type, of which a sum of a product is known more exactly than fp32 has it: to odd, so that
/// the second rounding cannot go wrong.
template <class Half>
Half rounded(double x) {
  auto nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) != x && std::isfinite(nearest) && (std::bit_cast<std::uint32_t>(nearest) & 1) == 0)
    nearest = std::nextafter(nearest, static_cast<double>(nearest) < x ? std::numeric_limits<float>::infinity()
                                                                       : -std::numeric_limits<float>::infinity());
  return from_float<Half>(nearest);
}

template <class Half, int Count, class Op>
struct Of2 {
  template <class Bits>
  Bits operator()(Bits a, Bits b) const {
    Bits result = 0;
    for (int k = 0; k < Count; ++k) {
      const Half x{static_cast<std::uint16_t>(a >> (16 * k))}, y{static_cast<std::uint16_t>(b >> (16 * k))};
      result |= static_cast<Bits>(Bits{from_float<Half>(Op{}(to_float(x), to_float(y))).bits} << (16 * k));
    }
    return result;
  }
};
template <class Half, int Count>
struct Of3 {
  template <class Bits>
  Bits operator()(Bits a, Bits b, Bits c) const {
    Bits result = 0;
    for (int k = 0; k < Count; ++k) {
      const Half x{static_cast<std::uint16_t>(a >> (16 * k))}, y{static_cast<std::uint16_t>(b >> (16 * k))},
          z{static_cast<std::uint16_t>(c >> (16 * k))};
      const double sum =
          static_cast<double>(to_float(x)) * static_cast<double>(to_float(y)) + static_cast<double>(to_float(z));
      result |= static_cast<Bits>(Bits{rounded<Half>(sum).bits} << (16 * k));
    }
    return result;
  }
};
template <std::uint32_t Signs, bool Absolute>
struct SignOnly {
  template <class Bits>
  Bits operator()(Bits a) const {
    return static_cast<Bits>(Absolute ? a & ~Signs : a ^ Signs);
  }
};

template <class Op>
Run of_two(Type t) {
  switch (t) {
    case Type::kF16:
      return &binary<std::uint16_t, Of2<f16, 1, Op>>;
    case Type::kBF16:
      return &binary<std::uint16_t, Of2<bf16, 1, Op>>;
    case Type::kF16x2:
      return &binary<std::uint32_t, Of2<f16, 2, Op>>;
    case Type::kBF16x2:
      return &binary<std::uint32_t, Of2<bf16, 2, Op>>;
    default:
      return nullptr;
  }
}
Run of_three(Type t) {
  switch (t) {
    case Type::kF16:
      return &ternary<std::uint16_t, Of3<f16, 1>>;
    case Type::kBF16:
      return &ternary<std::uint16_t, Of3<bf16, 1>>;
    case Type::kF16x2:
      return &ternary<std::uint32_t, Of3<f16, 2>>;
    case Type::kBF16x2:
      return &ternary<std::uint32_t, Of3<bf16, 2>>;
    default:
      return nullptr;
  }
}

}  // namespace

bool decode_half(Decoder& d, std::string_view base) {
  const Type t = d.last_type();
  if (t != Type::kF16 && t != Type::kBF16 && t != Type::kF16x2 && t != Type::kBF16x2) return false;
  const int bits = bits_of(t);
  const auto slots = [&](std::size_t operands) {
    d.take_type();
    d.expect_operands(operands);
    std::vector<std::uint32_t> all = {d.destination(std::size_t{0}, bits)};
    for (std::size_t i = 1; i < operands; ++i) all.push_back(d.source(i, bits));
    return all;
  };
  if (base == "neg" || base == "abs") {
    const bool absolute = base == "abs";
    const Run run = bits == 32 ? (absolute ? &unary<std::uint32_t, std::uint32_t, SignOnly<0x80008000, true>>
                                           : &unary<std::uint32_t, std::uint32_t, SignOnly<0x80008000, false>>)
                               : (absolute ? &unary<std::uint16_t, std::uint16_t, SignOnly<0x8000, true>>
                                           : &unary<std::uint16_t, std::uint16_t, SignOnly<0x8000, false>>);
    d.emit(run, slots(2));
    return true;
  }
  if (base == "fma") {
    if (!d.take("rn")) d.refuse("'.rn' is needed");
    d.emit(of_three(t), slots(4));
    return true;
  }
  const Run run = base == "add"   ? of_two<Add>(t)
                  : base == "sub" ? of_two<Sub>(t)
                  : base == "mul" ? of_two<Mul>(t)
                  : base == "max" ? of_two<Max>(t)
                  : base == "min" ? of_two<Min>(t)
                                  : nullptr;
  if (run == nullptr) return false;
  if (base != "max" && base != "min") d.take("rn");
  d.emit(run, slots(3));
  return true;
}

}  // namespace flashfit::ptx
