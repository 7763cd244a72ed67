// cvt (PTX ISA, "Data Movement and Conversion Instructions: cvt").
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>

#include "core/base/half.hpp"
#include "proof/ptx/lanes.hpp"

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

/// Conversions that are not among the common ones: through a number that holds each of the types' numbers exactly.
enum class Rounding : unsigned char { kNone, kNearest, kZero, kDown, kUp };
struct Conversion {
  Type to, from;
  int to_bytes, from_bytes;  ///< of the registers
  Rounding rounding;
  bool integral;   ///< to an integer, of whatever type
  bool saturates;  ///< to the ends of the type; of floats to 0 and 1, NaN to 0
  bool relu;       ///< negative numbers to 0
  bool flushes;    ///< subnormal numbers of fp32 are zeros

  std::int64_t packed() const {
    return static_cast<int>(to) | static_cast<int>(from) << 5 | to_bytes << 10 | from_bytes << 14 |
           static_cast<int>(rounding) << 18 | integral << 21 | saturates << 22 | relu << 23 | flushes << 24;
  }
  static Conversion of(std::int64_t x) {
    const auto field = [x](int at, int bits) { return static_cast<int>(x >> at & ((1 << bits) - 1)); };
    return {static_cast<Type>(field(0, 5)),
            static_cast<Type>(field(5, 5)),
            field(10, 4),
            field(14, 4),
            static_cast<Rounding>(field(18, 3)),
            field(21, 1) != 0,
            field(22, 1) != 0,
            field(23, 1) != 0,
            field(24, 1) != 0};
  }
};

/// 64 bits of mantissa and more: all integers, all floats.
using Exact = long double;
static_assert(std::numeric_limits<Exact>::digits >= 64);

Exact to_integral(Exact x, Rounding r) {
  switch (r) {
    case Rounding::kZero:
      return std::trunc(x);
    case Rounding::kDown:
      return std::floor(x);
    case Rounding::kUp:
      return std::ceil(x);
    default:
      return std::nearbyint(x);
  }
}

/// Of a binary floating-point type: bits of the significand, exponents of the smallest and the largest normal number
/// (IEEE 754-2019, table 3.5; bfloat16 has the exponents of binary32).
struct Format {
  int digits, least, most;
};
Format format_of(Type t) {
  return t == Type::kF64   ? Format{53, -1022, 1023}
         : t == Type::kF32 ? Format{24, -126, 127}
         : t == Type::kF16 ? Format{11, -14, 15}
                           : Format{8, -126, 127};
}

Exact rounded(Exact x, const Format& f, Rounding r) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int quantum = std::max(std::ilogb(x), f.least) - (f.digits - 1);
  const Exact result = std::scalbn(to_integral(std::scalbn(x, -quantum), r), quantum);
  const Exact largest = std::scalbn(2 - std::scalbn(Exact{1}, 1 - f.digits), f.most);
  if (std::fabs(result) <= largest) return result;
  const bool stays = r == Rounding::kZero || (r == Rounding::kDown && x > 0) || (r == Rounding::kUp && x < 0);
  return std::copysign(stays ? largest : std::numeric_limits<Exact>::infinity(), x);
}

Exact number_at(const std::byte* at, const Conversion& c) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<std::size_t>(c.from_bytes));
  switch (c.from) {
    case Type::kF64:
      return std::bit_cast<double>(bits);
    case Type::kF32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case Type::kF16:
      return to_float(f16{static_cast<std::uint16_t>(bits)});
    case Type::kBF16:
      return to_float(bf16{static_cast<std::uint16_t>(bits)});
    default:
      bits = Width{bits_of(c.from), is_signed(c.from)}.of(bits);
      return is_signed(c.from) ? static_cast<Exact>(static_cast<std::int64_t>(bits)) : static_cast<Exact>(bits);
  }
}

/// Beyond the type its ends, NaN 0.
std::uint64_t integer_bits(Exact x, Type t) {
  if (std::isnan(x)) return 0;
  const int bits = bits_of(t);
  if (is_signed(t)) {
    const Exact end = std::scalbn(Exact{1}, bits - 1);
    const std::int64_t most = static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - bits));
    return static_cast<std::uint64_t>(x < -end ? -most - 1 : x >= end ? most : static_cast<std::int64_t>(x));
  }
  return x <= 0                             ? 0
         : x >= std::scalbn(Exact{1}, bits) ? ~std::uint64_t{0} >> (64 - bits)
                                            : static_cast<std::uint64_t>(x);
}

std::uint64_t float_bits(Exact x, Type t) {
  switch (t) {
    case Type::kF64:
      return std::bit_cast<std::uint64_t>(static_cast<double>(x));
    case Type::kF32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(x));
    case Type::kF16:
      return from_float<f16>(static_cast<float>(x)).bits;
    default:
      return from_float<bf16>(static_cast<float>(x)).bits;
  }
}

std::uint64_t converted(const std::byte* at, const Conversion& c) {
  const auto flushed = [&c](Exact x, Type t) {
    const bool subnormal = c.flushes && t == Type::kF32 && std::fabs(x) < std::scalbn(Exact{1}, -126);
    return subnormal ? std::copysign(Exact{0}, x) : x;
  };
  Exact x = flushed(number_at(at, c), c.from);
  if (c.integral) x = to_integral(x, c.rounding);
  if (!is_float(c.to)) return integer_bits(x, c.to);
  if (c.saturates) x = x > 0 ? std::min<Exact>(x, 1) : 0;
  if (c.relu && std::signbit(x) && !std::isnan(x)) x = 0;
  return float_bits(flushed(c.rounding == Rounding::kNone ? x : rounded(x, format_of(c.to), c.rounding), c.to), c.to);
}

/// r = {d, a}; imm: the conversion.
void convert_lanes(Warp& w, const Instruction& i) {
  const Conversion c = Conversion::of(i.imm);
  for (const int l : Lanes(w.mask())) {
    const std::uint64_t bits = converted(w.at<std::byte>(i.r[1]) + l * c.from_bytes, c);
    std::memcpy(w.at<std::byte>(i.r[0]) + l * c.to_bytes, &bits, static_cast<std::size_t>(c.to_bytes));
  }
}
/// r = {d, a, b}: a becomes the upper half of d.
void convert_pairs(Warp& w, const Instruction& i) {
  const Conversion c = Conversion::of(i.imm);
  for (const int l : Lanes(w.mask())) {
    const auto half = [&](std::uint32_t slot) { return converted(w.at<std::byte>(slot) + l * c.from_bytes, c); };
    w.at<std::uint32_t>(i.r[0])[l] = static_cast<std::uint32_t>(half(i.r[1]) << 16 | half(i.r[2]));
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

/// ".rn", ".rzi": how a result is rounded, and whether to an integer.
std::pair<Rounding, bool> take_rounding(Decoder& d) {
  using enum Rounding;
  for (const auto& [name, rounding, integral] : {std::tuple{"rn", kNearest, false},
                                                 {"rz", kZero, false},
                                                 {"rm", kDown, false},
                                                 {"rp", kUp, false},
                                                 {"rni", kNearest, true},
                                                 {"rzi", kZero, true},
                                                 {"rmi", kDown, true},
                                                 {"rpi", kUp, true}})
    if (d.take(name)) return {rounding, integral};
  return {kNone, false};
}

void convert(Decoder& d) {
  const auto [rounding, integral] = take_rounding(d);
  const bool flushes = d.take("ftz"), relu = d.take("relu"), saturates = d.take("sat");
  const Type to = d.take_type();
  const Type from = d.take_type();
  if (to == Type::kPred || from == Type::kPred) d.refuse("not known");
  const bool plain = !flushes && !relu && !saturates;
  if (!is_float(to) && !is_float(from) && rounding == Rounding::kNone && plain) return convert_integers(d, to, from);
  if (from == Type::kF16x2 || from == Type::kBF16x2) d.refuse("this conversion is not known");
  Conversion c{to, from, bits_of(to) / 8, bits_of(from) / 8, rounding, integral, saturates, relu, flushes};
  if (to == Type::kF16x2 || to == Type::kBF16x2) {
    if (from != Type::kF32 || rounding == Rounding::kNone || integral) d.refuse("this conversion is not known");
    d.expect_operands(3);
    c.to = to == Type::kF16x2 ? Type::kF16 : Type::kBF16;
    const bool common = plain && rounding == Rounding::kNearest;
    d.emit(!common              ? &convert_pairs
           : to == Type::kF16x2 ? &binary<float, ToHalves<f16>, std::uint32_t>
                                : &binary<float, ToHalves<bf16>, std::uint32_t>,
           {d.destination(std::size_t{0}, 32), d.source(1, 32), d.source(2, 32)})
        .imm = c.packed();
    return;
  }
  // An integer of fewer bits than a float's significand, or a narrower float, needs no rounding.
  const bool widens =
      is_float(from) && is_float(to) && bits_of(from) <= bits_of(to) && (from == to || bits_of(to) > 16);
  const bool clamps = !is_float(from) && !is_float(to);
  if (rounding == Rounding::kNone ? !widens && !clamps : clamps) d.refuse("this conversion is not known");
  if (is_float(from) && !is_float(to) && !integral) d.refuse("'.rni', '.rzi', '.rmi' or '.rpi' is needed");
  d.expect_operands(2);
  if (plain && !integral && (rounding == Rounding::kNone || rounding == Rounding::kNearest))
    if (const Run run = nearest(to, from); run != nullptr) {
      d.emit(run, {d.destination(std::size_t{0}, bits_of(to)), d.source(1, bits_of(from))});
      return;
    }
  const auto register_bits = [&d](const Operand& o, Type t) {
    return o.kind == Operand::Kind::kRegister ? d.register_bits(o) : std::max(bits_of(t), 16);
  };
  const int to_bits = register_bits(d.operand(0), to), from_bits = register_bits(d.operand(1), from);
  if (to_bits < bits_of(to) || from_bits < bits_of(from)) d.refuse("a register is too narrow");
  if ((is_float(to) && to_bits != bits_of(to)) || (is_float(from) && from_bits != bits_of(from)))
    d.refuse("a register of another width is needed");
  c.to_bytes = to_bits / 8;
  c.from_bytes = from_bits / 8;
  d.emit(&convert_lanes, {d.destination(std::size_t{0}, to_bits), d.source(1, from_bits)}).imm = c.packed();
}

}  // namespace

bool decode_convert(Decoder& d, std::string_view base) {
  if (base != "cvt") return false;
  convert(d);
  return true;
}

}  // namespace flashfit::ptx
