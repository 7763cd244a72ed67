// cvt (PTX ISA, "Data Movement and Conversion Instructions: cvt").
#include <cmath>
#include <limits>

#include "base/half.hpp"
#include "ptx/lanes.hpp"

namespace flashfit::ptx {
namespace {

struct Same {
  template <class T>
  T operator()(T a) const {
    return a;
  }
};

/// An integer of so many bits, of which a register may have more.
struct Width {
  int bits;
  bool is_signed;
  std::uint64_t of(std::uint64_t x) const {
    const int unused = 64 - bits;
    return is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(x << unused) >> unused)
                     : x << unused >> unused;
  }
};

/// imm: bits and sign of the source and the result, 8 bits each.
template <class To, class From>
void integers(Warp& w, const Instruction& i) {
  To* const d = w.at<To>(i.r[0]);
  const From* const a = w.at<From>(i.r[1]);
  const Width from{static_cast<int>(i.imm & 0x7f), (i.imm & 0x80) != 0},
      to{static_cast<int>(i.imm >> 8 & 0x7f), (i.imm & 0x8000) != 0};
  w.each(d, [=](int l) { return static_cast<To>(to.of(from.of(a[l]))); });
}
template <class To>
Run integers_to(int from) {
  return from == 16   ? &integers<To, std::uint16_t>
         : from == 32 ? &integers<To, std::uint32_t>
                      : &integers<To, std::uint64_t>;
}

void convert_integers(Decoder& d, Type to, Type from) {
  d.expect_operands(2);
  const int to_bits = d.register_bits(d.operand(0));
  const Operand& a = d.operand(1);
  const int from_bits = a.kind == Operand::Kind::kRegister ? d.register_bits(a)
                        : bits_of(from) < 16               ? 16
                                                           : bits_of(from);
  if (to_bits < bits_of(to) || from_bits < bits_of(from)) d.refuse("a register is too narrow");
  Run run = to_bits == 16   ? integers_to<std::uint16_t>(from_bits)
            : to_bits == 32 ? integers_to<std::uint32_t>(from_bits)
                            : integers_to<std::uint64_t>(from_bits);
  if (to_bits == bits_of(to) && from_bits == bits_of(from)) {  // the common ones
    if (to_bits == 64 && from_bits == 32)
      run = is_signed(from) ? &unary<std::int64_t, std::int32_t, Same> : &unary<std::uint64_t, std::uint32_t, Same>;
    if (to_bits == 32 && from_bits == 64) run = &unary<std::uint32_t, std::uint64_t, Same>;
  }
  const auto width = [](Type t) { return bits_of(t) | (is_signed(t) ? 0x80 : 0); };
  d.emit(run, {d.destination(std::size_t{0}, to_bits), d.source(1, from_bits)}).imm = width(from) | width(to) << 8;
}

/// To the nearest integer as `Round` has it; beyond the type its ends, NaN 0.
template <class T, class Round>
struct ToInteger {
  T operator()(float a) const {
    if (std::isnan(a)) return 0;
    const double x = Round{}(static_cast<double>(a));
    if (x <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (x >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(x);
  }
};
struct TowardsZero {
  double operator()(double x) const { return std::trunc(x); }
};
struct Nearest {
  double operator()(double x) const { return std::nearbyint(x); }
};
struct Down {
  double operator()(double x) const { return std::floor(x); }
};
struct Up {
  double operator()(double x) const { return std::ceil(x); }
};
template <class Round>
struct Rounded {
  float operator()(float a) const { return static_cast<float>(Round{}(static_cast<double>(a))); }
};

template <class Round>
Run rounding(Type to) {
  switch (to) {
    case Type::kS32:
      return &unary<std::int32_t, float, ToInteger<std::int32_t, Round>>;
    case Type::kU32:
      return &unary<std::uint32_t, float, ToInteger<std::uint32_t, Round>>;
    case Type::kS64:
      return &unary<std::int64_t, float, ToInteger<std::int64_t, Round>>;
    case Type::kU64:
      return &unary<std::uint64_t, float, ToInteger<std::uint64_t, Round>>;
    case Type::kF32:
      return &unary<float, float, Rounded<Round>>;
    default:
      return nullptr;
  }
}

template <class Half>
struct FromHalf {
  float operator()(std::uint16_t bits) const { return to_float(Half{bits}); }
};
template <class Half>
struct ToHalf {
  std::uint16_t operator()(float a) const { return from_float<Half>(a).bits; }
};
/// The first operand becomes the upper half.
template <class Half>
struct ToHalves {
  std::uint32_t operator()(float a, float b) const {
    return std::uint32_t{from_float<Half>(a).bits} << 16 | from_float<Half>(b).bits;
  }
};

/// Conversions that are rounded to nearest even, or exact.
Run nearest(Type to, Type from) {
  struct Known {
    Type to, from;
    Run run;
  };
  constexpr Known kAll[] = {
      {Type::kF32, Type::kS32, &unary<float, std::int32_t, Same>},
      {Type::kF32, Type::kU32, &unary<float, std::uint32_t, Same>},
      {Type::kF32, Type::kS64, &unary<float, std::int64_t, Same>},
      {Type::kF32, Type::kU64, &unary<float, std::uint64_t, Same>},
      {Type::kF64, Type::kS32, &unary<double, std::int32_t, Same>},
      {Type::kF64, Type::kF32, &unary<double, float, Same>},
      {Type::kF32, Type::kF64, &unary<float, double, Same>},
      {Type::kF32, Type::kF16, &unary<float, std::uint16_t, FromHalf<f16>>},
      {Type::kF32, Type::kBF16, &unary<float, std::uint16_t, FromHalf<bf16>>},
      {Type::kF16, Type::kF32, &unary<std::uint16_t, float, ToHalf<f16>>},
      {Type::kBF16, Type::kF32, &unary<std::uint16_t, float, ToHalf<bf16>>},
  };
  for (const Known& k : kAll)
    if (k.to == to && k.from == from) return k.run;
  return nullptr;
}

void convert(Decoder& d) {
  const std::string_view roundings[] = {"rn", "rzi", "rni", "rmi", "rpi"};
  std::string_view rounding_mode;
  for (const std::string_view r : roundings)
    if (d.take(r)) {
      rounding_mode = r;
      break;
    }
  // Of these a zero in place of a subnormal number gives the same.
  const bool flushes =
      (rounding_mode == "rn" || rounding_mode == "rzi" || rounding_mode == "rni" || rounding_mode.empty()) &&
      d.take("ftz");
  const Type to = d.take_type();
  const Type from = d.take_type();
  if (flushes && (to == Type::kF64 || (to == Type::kF32 && from == Type::kF32)))
    d.refuse("'.ftz' is not known for these types");
  if (to == Type::kNone || from == Type::kNone || to == Type::kPred || from == Type::kPred) d.refuse("not known");
  if (!is_float(to) && !is_float(from) && rounding_mode.empty()) return convert_integers(d, to, from);
  if ((to == Type::kF16x2 || to == Type::kBF16x2) && from == Type::kF32 && rounding_mode == "rn") {
    d.expect_operands(3);
    d.emit(to == Type::kF16x2 ? &binary<float, ToHalves<f16>, std::uint32_t>
                              : &binary<float, ToHalves<bf16>, std::uint32_t>,
           {d.destination(std::size_t{0}, 32), d.source(1, 32), d.source(2, 32)});
    return;
  }
  const bool exact =
      from == Type::kF16 || from == Type::kBF16 || (from == Type::kF32 && to == Type::kF64) || to == Type::kF64;
  Run run = nullptr;
  if (rounding_mode == "rn" || (rounding_mode.empty() && exact))
    run = nearest(to, from);
  else if (from == Type::kF32)
    run = rounding_mode == "rzi"   ? rounding<TowardsZero>(to)
          : rounding_mode == "rni" ? rounding<Nearest>(to)
          : rounding_mode == "rmi" ? rounding<Down>(to)
          : rounding_mode == "rpi" ? rounding<Up>(to)
                                   : nullptr;
  if (run == nullptr) d.refuse("this conversion is not known");
  d.expect_operands(2);
  d.emit(run, {d.destination(std::size_t{0}, bits_of(to)), d.source(1, bits_of(from))});
}

}  // namespace

bool decode_convert(Decoder& d, std::string_view base) {
  if (base != "cvt") return false;
  convert(d);
  return true;
}

}  // namespace flashfit::ptx
