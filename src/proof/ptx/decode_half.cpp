// Arithmetic of 16-bit floats, one or two in a register (PTX ISA, "Half Precision Floating Point Instructions"): each
// result is computed in fp64, which holds products exactly, and rounded once to the type.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/base/half.hpp"
#include "proof/ptx/lanes.hpp"

namespace flashfit::ptx {
namespace {

/// a + b; where fp64 does not hold it, of its two neighbours there the one whose last bit is 1, so that rounding it
/// once more to fewer bits gives what rounding the sum would (S. Boldo, G. Melquiond, "Emulation of FMA and Correctly
/// Rounded Sums: Proved Algorithms Using Rounding to Odd", 2008). The error is Knuth's TwoSum.
double sum(double a, double b) {
  const double s = a + b, b_part = s - a, error = (a - (s - b_part)) + (b - b_part);
  if (!(std::fabs(error) > 0) || (std::bit_cast<std::uint64_t>(s) & 1) != 0) return s;
  return std::nextafter(s, std::copysign(std::numeric_limits<double>::infinity(), error));
}
struct Add {
  double operator()(double a, double b) const { return sum(a, b); }
};
struct Sub {
  double operator()(double a, double b) const { return sum(a, -b); }
};
struct Mul {
  double operator()(double a, double b) const { return a * b; }
};
/// Of a NaN and a number the number; +0 is more than -0.
struct Max {
  double operator()(double a, double b) const {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    return a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
  }
};
struct Min {
  double operator()(double a, double b) const {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    return a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
  }
};

/// With ".NaN": of a NaN and a number the NaN.
template <class Op>
struct OrNan {
  double operator()(double a, double b) const { return std::isnan(a) || std::isnan(b) ? a + b : Op{}(a, b); }
};
struct MultiplyAdd {
  double operator()(double a, double b, double c) const { return sum(a * b, c); }  // the product is exact
};
struct Exp2 {
  double operator()(double a) const { return std::exp2(a); }
};
struct Tanh {
  double operator()(double a) const { return std::tanh(a); }
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

/// What an operation does to its operands and its result besides: ".sat" to between 0 and 1, NaN to 0; ".relu"
/// negative numbers to 0; ".ftz" subnormal ones to 0.
struct Plain {
  static double operand(double x) { return x; }
  static double result(double x) { return x; }
};
struct Saturated : Plain {
  static double result(double x) { return x > 0 ? std::min(x, 1.) : 0.; }  // NaN is not more than 0
};
struct NotNegative : Plain {
  static double result(double x) { return std::signbit(x) && !std::isnan(x) ? 0. : x; }
};
/// Of fp16: the smallest normal number is 2^-14.
struct Flushing {
  static double operand(double x) { return std::fabs(x) < 0x1p-14 ? std::copysign(0., x) : x; }
  static double result(double x) { return operand(x); }
};
struct FlushingSaturated : Flushing {
  static double result(double x) { return Saturated::result(operand(x)); }
};
struct FlushingNotNegative : Flushing {
  static double result(double x) { return NotNegative::result(operand(x)); }
};

/// An operation on one or two numbers in a register: the exact result, or one whose second rounding gives the same.
template <class Half, int Count, class Op, class With>
struct OfHalves {
  template <class Bits, class... More>
  Bits operator()(Bits a, More... more) const {
    Bits result = 0;
    for (int k = 0; k < Count; ++k) {
      const auto number = [k](Bits bits) {
        return With::operand(to_float(Half{static_cast<std::uint16_t>(bits >> (16 * k))}));
      };
      const double x = With::result(Op{}(number(a), number(more)...));
      result |= static_cast<Bits>(Bits{rounded<Half>(x).bits} << (16 * k));
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

template <class Op, class With, int Operands>
Run of_type(Type t) {
  if constexpr (Operands == 1)
    return t == Type::kF16     ? &unary<std::uint16_t, std::uint16_t, OfHalves<f16, 1, Op, With>>
           : t == Type::kBF16  ? &unary<std::uint16_t, std::uint16_t, OfHalves<bf16, 1, Op, With>>
           : t == Type::kF16x2 ? &unary<std::uint32_t, std::uint32_t, OfHalves<f16, 2, Op, With>>
                               : &unary<std::uint32_t, std::uint32_t, OfHalves<bf16, 2, Op, With>>;
  else if constexpr (Operands == 2)
    return t == Type::kF16     ? &binary<std::uint16_t, OfHalves<f16, 1, Op, With>>
           : t == Type::kBF16  ? &binary<std::uint16_t, OfHalves<bf16, 1, Op, With>>
           : t == Type::kF16x2 ? &binary<std::uint32_t, OfHalves<f16, 2, Op, With>>
                               : &binary<std::uint32_t, OfHalves<bf16, 2, Op, With>>;
  else
    return t == Type::kF16     ? &ternary<std::uint16_t, OfHalves<f16, 1, Op, With>>
           : t == Type::kBF16  ? &ternary<std::uint16_t, OfHalves<bf16, 1, Op, With>>
           : t == Type::kF16x2 ? &ternary<std::uint32_t, OfHalves<f16, 2, Op, With>>
                               : &ternary<std::uint32_t, OfHalves<bf16, 2, Op, With>>;
}
/// Takes the modifiers that an operation has besides its type.
template <class Op, int Operands>
Run of_modifiers(Decoder& d, Type t) {
  const bool flushes = d.take("ftz"), saturates = d.take("sat"), relu = !saturates && d.take("relu");
  if (flushes && t != Type::kF16 && t != Type::kF16x2) d.refuse("'.ftz' is not known for this type");
  if (flushes)
    return saturates ? of_type<Op, FlushingSaturated, Operands>(t)
           : relu    ? of_type<Op, FlushingNotNegative, Operands>(t)
                     : of_type<Op, Flushing, Operands>(t);
  return saturates ? of_type<Op, Saturated, Operands>(t)
         : relu    ? of_type<Op, NotNegative, Operands>(t)
                   : of_type<Op, Plain, Operands>(t);
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
  std::size_t operands = 3;
  Run run = nullptr;
  if (base == "fma") {
    if (!d.take("rn")) d.refuse("'.rn' is needed");
    run = of_modifiers<MultiplyAdd, 3>(d, t);
    operands = 4;
  } else if (base == "ex2" || base == "tanh") {
    if (!d.take("approx")) d.refuse("'.approx' is needed");
    d.take("ftz");
    run = base == "ex2" ? of_type<Exp2, Plain, 1>(t) : of_type<Tanh, Plain, 1>(t);
    operands = 2;
  } else if (base == "max" || base == "min") {
    const bool flushes = d.take("ftz"), keeps_nan = d.take("NaN"), is_max = base == "max";
    if (flushes) d.refuse("'.ftz' is not known here");
    run = keeps_nan ? (is_max ? of_type<OrNan<Max>, Plain, 2>(t) : of_type<OrNan<Min>, Plain, 2>(t))
                    : (is_max ? of_type<Max, Plain, 2>(t) : of_type<Min, Plain, 2>(t));
  } else if (base == "add" || base == "sub" || base == "mul") {
    d.take("rn");
    run = base == "add"   ? of_modifiers<Add, 2>(d, t)
          : base == "sub" ? of_modifiers<Sub, 2>(d, t)
                          : of_modifiers<Mul, 2>(d, t);
  } else {
    return false;
  }
  d.emit(run, slots(operands));
  return true;
}

}  // namespace flashfit::ptx
