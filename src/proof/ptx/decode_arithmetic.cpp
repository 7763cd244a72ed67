// Arithmetic (PTX ISA, "Integer Arithmetic Instructions", "Floating Point Instructions", "Logic and Shift
// Instructions"). exp2, log2 and reciprocals are those of the emulator's contract (proof/emu/flashfit_arch.hpp), so
// that the two give the same bits; hardware's approximations differ from them in the last places.
#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

#include "proof/ptx/lanes.hpp"

namespace flashfit::ptx {
namespace {

struct Add {
  template <class T>
  auto operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b);
    else
      return a + b;
  }
};
struct Sub {
  template <class T>
  auto operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b);
    else
      return a - b;
  }
};
struct Mul {
  template <class T>
  auto operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b);
    else
      return a * b;
  }
};
template <class To>
struct MulWide {
  template <class T>
  To operator()(T a, T b) const {
    return static_cast<To>(Mul{}(static_cast<To>(a), static_cast<To>(b)));
  }
};
/// The upper half of the product.
struct MulHigh {
  template <class T>
  T operator()(T a, T b) const {
    using Wide =
        std::conditional_t<sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
                           std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;
    return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b) >> (sizeof(T) * 8));
  }
};
struct MadLow {
  template <class T>
  auto operator()(T a, T b, T c) const {
    return Add{}(static_cast<T>(Mul{}(a, b)), c);
  }
};
struct MadHigh {
  template <class T>
  auto operator()(T a, T b, T c) const {
    return Add{}(MulHigh{}(a, b), c);
  }
};
template <class To>
struct MadWide {
  template <class T>
  auto operator()(T a, T b, To c) const {
    return Add{}(MulWide<To>{}(a, b), c);
  }
};
struct Fma {
  template <class T>
  T operator()(T a, T b, T c) const {
    return std::fma(a, b, c);
  }
};
/// What a division by zero gives is not specified; all bits are set, as GPUs do.
struct Div {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return static_cast<T>(~T{0});
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(Sub{}(T{0}, a));
    }
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
/// Of a NaN and a number the number; +0 is more than -0 (PTX ISA, "max").
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a)) return std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : b;
      if (std::isnan(b)) return a;
      if (a == b) return std::signbit(a) ? b : a;
    }
    return a > b ? a : b;
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a)) return std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : b;
      if (std::isnan(b)) return a;
      if (a == b) return std::signbit(a) ? a : b;
    }
    return a < b ? a : b;
  }
};
struct Negative {
  template <class T>
  auto operator()(T a) const {
    if constexpr (std::is_integral_v<T>)
      return Wrapping<T>{0} - static_cast<Wrapping<T>>(a);
    else
      return -a;
  }
};
struct Absolute {
  template <class T>
  auto operator()(T a) const {
    if constexpr (std::is_integral_v<T>)
      return a < 0 ? Wrapping<T>{0} - static_cast<Wrapping<T>>(a) : static_cast<Wrapping<T>>(a);
    else
      return std::fabs(a);
  }
};
struct Exp2 {
  float operator()(float a) const { return std::exp2(a); }
};
struct Log2 {
  float operator()(float a) const { return std::log2(a); }
};
struct Reciprocal {
  template <class T>
  T operator()(T a) const {
    return T{1} / a;
  }
};
struct SquareRoot {
  template <class T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};
struct ReciprocalRoot {
  float operator()(float a) const { return 1.f / std::sqrt(a); }
};
struct And {
  template <class T>
  T operator()(T a, T b) const {
    return a & b;
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return a | b;
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return a ^ b;
  }
};
struct Not {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};
/// Shifts by more than there are bits give what shifting all of them gives (PTX ISA, "shl").
struct ShiftLeft {
  template <class T>
  T operator()(T a, std::uint32_t by) const {
    return by >= sizeof(T) * 8 ? T{0} : static_cast<T>(static_cast<Wrapping<T>>(a) << by);
  }
};
struct ShiftRight {
  template <class T>
  T operator()(T a, std::uint32_t by) const {
    constexpr std::uint32_t kBits = sizeof(T) * 8;
    if (by >= kBits) return static_cast<T>(std::is_signed_v<T> && a < 0 ? -1 : 0);
    return static_cast<T>(a >> by);
  }
};
struct CountBits {
  template <class T>
  std::uint32_t operator()(T a) const {
    return static_cast<std::uint32_t>(std::popcount(a));
  }
};
struct LeadingZeros {
  template <class T>
  std::uint32_t operator()(T a) const {
    return static_cast<std::uint32_t>(std::countl_zero(a));
  }
};

/// With ".ftz": subnormal operands and results are zeros of their sign.
float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.f, x) : x; }
template <class Op>
struct Flushed {
  template <class... T>
  float operator()(T... operands) const {
    return flushed(Op{}(flushed(operands)...));
  }
};
/// With ".sat": to between 0 and 1, NaN to 0.
template <class Op>
struct Saturated {
  template <class... T>
  float operator()(T... operands) const {
    const float x = Op{}(operands...);
    return x > 0 ? std::min(x, 1.f) : 0.f;
  }
};
/// Rounded as the CPU is told to for the time of the operation, which nothing may be moved out of.
template <int Mode, class Op>
struct InMode {
  template <class... T>
  auto operator()(T... operands) const {
    std::fesetround(Mode);
    const auto result = held(Op{}(held(operands)...));
    std::fesetround(FE_TONEAREST);
    return result;
  }

 private:
  template <class T>
  static T held(T x) {
    volatile T v = x;
    return v;
  }
};
struct Tanh {
  float operator()(float a) const { return std::tanh(a); }
};
struct Sine {
  float operator()(float a) const { return std::sin(a); }
};
struct Cosine {
  float operator()(float a) const { return std::cos(a); }
};
struct Reversed {
  template <class T>
  T operator()(T a) const {
    T b = 0;
    for (std::size_t i = 0; i < sizeof(T) * 8; ++i) b |= (a >> i & 1) << (sizeof(T) * 8 - 1 - i);
    return b;
  }
};

void emit_unary(Decoder& d, Run run, int bits, int from_bits) {
  d.expect_operands(2);
  d.emit(run, {d.destination(std::size_t{0}, bits), d.source(1, from_bits)});
}
void emit_binary(Decoder& d, Run run, int to_bits, int bits) {
  d.expect_operands(3);
  d.emit(run, {d.destination(std::size_t{0}, to_bits), d.source(1, bits), d.source(2, bits)});
}
void emit_ternary(Decoder& d, Run run, int to_bits, int bits) {
  d.expect_operands(4);
  d.emit(run, {d.destination(std::size_t{0}, to_bits), d.source(1, bits), d.source(2, bits), d.source(3, to_bits)});
}
Run known(Decoder& d, Run run) {
  if (run == nullptr) d.refuse("not known for this type");
  return run;
}

template <class Op, class T, int Operands>
Run of_floats() {
  if constexpr (Operands == 2)
    return &binary<T, Op>;
  else
    return &ternary<T, Op>;
}
/// An operation on fp32 or fp64 that is rounded in one of PTX's four ways; what else its modifiers ask for.
template <class Op, int Operands>
Run of_rounded_floats(Type t, std::string_view rounding, bool flushes, bool saturates) {
  if (t == Type::kF64) {
    if (flushes || saturates) return nullptr;
    return rounding == "rz"   ? of_floats<InMode<FE_TOWARDZERO, Op>, double, Operands>()
           : rounding == "rm" ? of_floats<InMode<FE_DOWNWARD, Op>, double, Operands>()
           : rounding == "rp" ? of_floats<InMode<FE_UPWARD, Op>, double, Operands>()
                              : of_floats<Op, double, Operands>();
  }
  if (rounding != "rn" && (flushes || saturates)) return nullptr;
  if (flushes)
    return saturates ? of_floats<Saturated<Flushed<Op>>, float, Operands>() : of_floats<Flushed<Op>, float, Operands>();
  if (saturates) return of_floats<Saturated<Op>, float, Operands>();
  return rounding == "rz"   ? of_floats<InMode<FE_TOWARDZERO, Op>, float, Operands>()
         : rounding == "rm" ? of_floats<InMode<FE_DOWNWARD, Op>, float, Operands>()
         : rounding == "rp" ? of_floats<InMode<FE_UPWARD, Op>, float, Operands>()
                            : of_floats<Op, float, Operands>();
}
/// "rn" if none is named. Without it a sum of products may be contracted by who compiles the PTX further; here it is
/// not.
std::string_view take_rounding(Decoder& d) {
  for (const std::string_view r : {"rn", "rz", "rm", "rp"})
    if (d.take(r)) return r;
  return {};
}

/// add, sub, mul, div.
template <class Op>
void numbers(Decoder& d) {
  const std::string_view rounding = take_rounding(d);
  const bool flushes = d.take("ftz"), saturates = d.take("sat");
  const Type t = d.take_type();
  Run run = nullptr;
  if (t == Type::kF32 || t == Type::kF64)
    run = of_rounded_floats<Op, 2>(t, rounding.empty() ? "rn" : rounding, flushes, saturates);
  else if (rounding.empty() && !flushes && !saturates)
    run = for_integer(t, [](auto x) -> Run { return &binary<decltype(x), Op>; });
  emit_binary(d, known(d, run), bits_of(t), bits_of(t));
}

/// With ".NaN": of a NaN and a number the NaN.
template <class Op>
struct OrNan {
  template <class T>
  T operator()(T a, T b) const {
    return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : Op{}(a, b);
  }
};
template <class Op>
struct OrZero {
  std::int32_t operator()(std::int32_t a, std::int32_t b) const { return std::max(Op{}(a, b), 0); }
};

/// min, max.
template <class Op>
void extremes(Decoder& d) {
  const bool relu = d.take("relu"), flushes = d.take("ftz"), keeps_nan = d.take("NaN");
  const Type t = d.take_type();
  Run run = nullptr;
  if (relu)
    run = t == Type::kS32 && !flushes && !keeps_nan ? &binary<std::int32_t, OrZero<Op>> : nullptr;
  else if (t == Type::kF32)
    run = flushes     ? (keeps_nan ? &binary<float, Flushed<OrNan<Op>>> : &binary<float, Flushed<Op>>)
          : keeps_nan ? &binary<float, OrNan<Op>>
                      : &binary<float, Op>;
  else if (!flushes && !keeps_nan)
    run =
        t == Type::kF64 ? &binary<double, Op> : for_integer(t, [](auto x) -> Run { return &binary<decltype(x), Op>; });
  emit_binary(d, known(d, run), bits_of(t), bits_of(t));
}

template <class Op>
void numbers_of_one(Decoder& d) {
  const bool flushes = d.take("ftz");
  const Type t = d.take_type();
  Run run = flushes           ? (t == Type::kF32 ? &unary<float, float, Flushed<Op>> : nullptr)
            : t == Type::kF32 ? &unary<float, float, Op>
            : t == Type::kF64 ? &unary<double, double, Op>
            : is_signed(t)    ? for_integer(t, [](auto x) -> Run { return &unary<decltype(x), decltype(x), Op>; })
                              : nullptr;
  emit_unary(d, known(d, run), bits_of(t), bits_of(t));
}

void multiply(Decoder& d) {
  if (d.take("wide")) {
    const Type t = d.take_type();
    const Run run = t == Type::kU16   ? &binary<std::uint16_t, MulWide<std::uint32_t>, std::uint32_t>
                    : t == Type::kS16 ? &binary<std::int16_t, MulWide<std::int32_t>, std::int32_t>
                    : t == Type::kU32 ? &binary<std::uint32_t, MulWide<std::uint64_t>, std::uint64_t>
                    : t == Type::kS32 ? &binary<std::int32_t, MulWide<std::int64_t>, std::int64_t>
                                      : nullptr;
    return emit_binary(d, known(d, run), bits_of(t) * 2, bits_of(t));
  }
  if (d.take("hi")) {
    const Type t = d.take_type();
    return emit_binary(d, known(d, for_integer(t, [](auto x) -> Run { return &binary<decltype(x), MulHigh>; })),
                       bits_of(t), bits_of(t));
  }
  if (d.take("lo")) {
    const Type t = d.take_type();
    return emit_binary(d, known(d, for_integer(t, [](auto x) -> Run { return &binary<decltype(x), Mul>; })), bits_of(t),
                       bits_of(t));
  }
  numbers<Mul>(d);
}

void multiply_add(Decoder& d) {
  if (d.take("wide")) {
    const Type t = d.take_type();
    const Run run = t == Type::kU32   ? &ternary<std::uint32_t, MadWide<std::uint64_t>, std::uint64_t>
                    : t == Type::kS32 ? &ternary<std::int32_t, MadWide<std::int64_t>, std::int64_t>
                    : t == Type::kU16 ? &ternary<std::uint16_t, MadWide<std::uint32_t>, std::uint32_t>
                    : t == Type::kS16 ? &ternary<std::int16_t, MadWide<std::int32_t>, std::int32_t>
                                      : nullptr;
    return emit_ternary(d, known(d, run), bits_of(t) * 2, bits_of(t));
  }
  const bool high = d.take("hi");
  if (!high && !d.take("lo")) d.refuse("'.lo', '.hi' or '.wide' is needed");
  const Type t = d.take_type();
  const Run run = high ? for_integer(t, [](auto x) -> Run { return &ternary<decltype(x), MadHigh>; })
                       : for_integer(t, [](auto x) -> Run { return &ternary<decltype(x), MadLow>; });
  emit_ternary(d, known(d, run), bits_of(t), bits_of(t));
}

void fused_multiply_add(Decoder& d) {
  const std::string_view rounding = take_rounding(d);
  if (rounding.empty()) d.refuse("'.rn', '.rz', '.rm' or '.rp' is needed");
  const bool flushes = d.take("ftz"), saturates = d.take("sat");
  const Type t = d.take_type();
  if (t != Type::kF32 && t != Type::kF64) d.refuse("not known for this type");
  emit_ternary(d, known(d, of_rounded_floats<Fma, 3>(t, rounding, flushes, saturates)), bits_of(t), bits_of(t));
}

/// Approximations are computed as well as a CPU can.
template <class Op>
void of_f32(Decoder& d) {
  if (!d.take("approx")) d.refuse("'.approx' is needed");
  d.take("ftz");
  if (d.take_type() != Type::kF32) d.refuse("not known for this type");
  emit_unary(d, &unary<float, float, Op>, 32, 32);
}
/// rcp, sqrt, which can also be rounded to nearest.
template <class Op>
void approximate_or_nearest(Decoder& d) {
  if (!d.take("rn")) return of_f32<Op>(d);
  const bool flushes = d.take("ftz");
  const Type t = d.take_type();
  const Run run = t == Type::kF64 && !flushes ? &unary<double, double, Op>
                  : t == Type::kF32           ? (flushes ? &unary<float, float, Flushed<Op>> : &unary<float, float, Op>)
                                              : nullptr;
  emit_unary(d, known(d, run), bits_of(t), bits_of(t));
}

void divide(Decoder& d) {
  if (d.take("approx") || d.take("full")) {
    d.take("ftz");
    if (d.take_type() != Type::kF32) d.refuse("not known for this type");
    return emit_binary(d, &binary<float, Div>, 32, 32);
  }
  numbers<Div>(d);
}

void remainder(Decoder& d) {
  const Type t = d.take_type();
  emit_binary(d, known(d, for_integer(t, [](auto x) -> Run { return &binary<decltype(x), Rem>; })), bits_of(t),
              bits_of(t));
}

// Predicates are words of bits.
template <class Op>
void predicates(Warp& w, const Instruction& i) {
  w.set_predicate(i.r[0], Op{}(w.predicate(i.r[1]), w.predicate(i.r[2])));
}
void not_predicate(Warp& w, const Instruction& i) { w.set_predicate(i.r[0], ~w.predicate(i.r[1])); }

template <class Op>
void logic(Decoder& d) {
  const Type t = d.take_type();
  if (t == Type::kPred) return emit_binary(d, &predicates<Op>, 1, 1);
  if (t < Type::kB8 || t > Type::kB64) d.refuse("not known for this type");
  emit_binary(d, known(d, for_bits(bits_of(t), [](auto x) -> Run { return &binary<decltype(x), Op>; })), bits_of(t),
              bits_of(t));
}

void negate_bits(Decoder& d) {
  const Type t = d.take_type();
  if (t == Type::kPred) return emit_unary(d, &not_predicate, 1, 1);
  emit_unary(d, known(d, for_bits(bits_of(t), [](auto x) -> Run { return &unary<decltype(x), decltype(x), Not>; })),
             bits_of(t), bits_of(t));
}

template <class Op>
void shift(Decoder& d) {
  const Type t = d.take_type();
  const auto make = [](auto x) -> Run { return &binary<decltype(x), Op, decltype(x), std::uint32_t>; };
  const Run run = is_signed(t) ? for_integer(t, make) : for_bits(bits_of(t), make);
  d.expect_operands(3);
  d.emit(known(d, run), {d.destination(std::size_t{0}, bits_of(t)), d.source(1, bits_of(t)), d.source(2, 32)});
}

template <class Op>
void count(Decoder& d) {
  const Type t = d.take_type();
  const Run run = t == Type::kB32   ? &unary<std::uint32_t, std::uint32_t, Op>
                  : t == Type::kB64 ? &unary<std::uint32_t, std::uint64_t, Op>
                                    : nullptr;
  emit_unary(d, known(d, run), 32, bits_of(t));
}

/// Bits of b from c on, d of them, replaced by the lowest of a.
template <class T>
void insert_bits(Warp& w, const Instruction& i) {
  constexpr std::uint32_t kBits = sizeof(T) * 8;
  T* const to = w.at<T>(i.r[0]);
  const T *const a = w.at<T>(i.r[1]), *const b = w.at<T>(i.r[2]);
  const auto *const at = w.at<std::uint32_t>(i.r[3]), *const length = w.at<std::uint32_t>(i.r[4]);
  w.each(to, [=](int l) {
    const std::uint32_t first = at[l] & 0xff, bits = length[l] & 0xff;
    const T ones = bits >= kBits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << bits) - 1);
    const T mask = ShiftLeft{}(ones, first);
    return static_cast<T>((b[l] & ~mask) | (ShiftLeft{}(a[l], first) & mask));
  });
}

/// c bits of a from b on; with a sign, what is above them is the last of them, also past the end of a.
template <class T>
void extract_bits(Warp& w, const Instruction& i) {
  constexpr std::uint32_t kBits = sizeof(T) * 8;
  T* const to = w.at<T>(i.r[0]);
  const T* const a = w.at<T>(i.r[1]);
  const auto *const at = w.at<std::uint32_t>(i.r[2]), *const length = w.at<std::uint32_t>(i.r[3]);
  w.each(to, [=](int l) -> T {
    const std::uint32_t first = at[l] & 0xff, bits = length[l] & 0xff;
    if (bits == 0) return 0;
    const T shifted = ShiftRight{}(a[l], first);
    return bits >= kBits ? shifted : ShiftRight{}(ShiftLeft{}(shifted, kBits - bits), kBits - bits);
  });
}

/// c and the products of the four bytes of a and b, or of two bytes of b and the halves of a. extra: bytes of a's
/// parts, and which byte of b is the first.
template <class A, class B>
void dot_product(Warp& w, const Instruction& i) {
  auto* const to = w.at<std::uint32_t>(i.r[0]);
  const auto *const a = w.at<std::uint32_t>(i.r[1]), *const b = w.at<std::uint32_t>(i.r[2]),
                    *const c = w.at<std::uint32_t>(i.r[3]);
  constexpr int kABits = sizeof(A) * 8, kParts = 32 / kABits;
  const int first = i.extra;
  w.each(to, [=](int l) {
    std::uint32_t sum = c[l];
    for (int k = 0; k < kParts; ++k) {
      const auto x = static_cast<A>(a[l] >> (k * kABits));
      const auto y = static_cast<B>(b[l] >> ((k + first) * 8));
      sum += static_cast<std::uint32_t>(x) * static_cast<std::uint32_t>(y);
    }
    return sum;
  });
}

/// Each byte of d is one of the eight of b and a, as four bits of c say; the highest one: its sign alone.
void permute_bytes(Warp& w, const Instruction& i) {
  auto* const to = w.at<std::uint32_t>(i.r[0]);
  const auto *const a = w.at<std::uint32_t>(i.r[1]), *const b = w.at<std::uint32_t>(i.r[2]),
                    *const c = w.at<std::uint32_t>(i.r[3]);
  w.each(to, [=](int l) {
    const std::uint64_t bytes = std::uint64_t{b[l]} << 32 | a[l];
    std::uint32_t result = 0;
    for (int k = 0; k < 4; ++k) {
      const std::uint32_t which = c[l] >> (4 * k);
      auto byte = static_cast<std::uint32_t>(bytes >> (8 * (which & 7)) & 0xff);
      if ((which & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
      result |= byte << (8 * k);
    }
    return result;
  });
}

/// imm: what of three bits gives 1, a bit for each of their eight values.
void logic_of_three(Warp& w, const Instruction& i) {
  auto* const to = w.at<std::uint32_t>(i.r[0]);
  const auto *const a = w.at<std::uint32_t>(i.r[1]), *const b = w.at<std::uint32_t>(i.r[2]),
                    *const c = w.at<std::uint32_t>(i.r[3]);
  const auto table = static_cast<unsigned>(i.imm);
  w.each(to, [=](int l) {
    std::uint32_t result = 0;
    for (unsigned k = 0; k < 8; ++k)
      if ((table >> k & 1) != 0)
        result |= ((k & 4) != 0 ? a[l] : ~a[l]) & ((k & 2) != 0 ? b[l] : ~b[l]) & ((k & 1) != 0 ? c[l] : ~c[l]);
    return result;
  });
}

/// 32 bits of b and a side by side. extra: 1 to the left, 2 a count beyond 32 wraps.
void funnel_shift(Warp& w, const Instruction& i) {
  auto* const to = w.at<std::uint32_t>(i.r[0]);
  const auto *const a = w.at<std::uint32_t>(i.r[1]), *const b = w.at<std::uint32_t>(i.r[2]),
                    *const c = w.at<std::uint32_t>(i.r[3]);
  const int form = i.extra;
  w.each(to, [=](int l) {
    const std::uint64_t both = std::uint64_t{b[l]} << 32 | a[l];
    const std::uint32_t by = (form & 2) != 0 ? c[l] & 31 : c[l] > 32 ? 32 : c[l];
    return static_cast<std::uint32_t>((form & 1) != 0 ? both << by >> 32 : by == 32 ? both >> 32 : both >> by);
  });
}

void emit_words(Decoder& d, Run run, std::size_t operands) {
  std::vector<std::uint32_t> slots = {d.destination(std::size_t{0}, 32)};
  for (std::size_t i = 1; i < operands; ++i) slots.push_back(d.source(i, 32));
  d.emit(run, std::move(slots));
}
void permute(Decoder& d) {
  if (!d.take("b32")) d.refuse("'.b32' is needed");
  d.expect_operands(4);
  emit_words(d, &permute_bytes, 4);
}
void logic_by_table(Decoder& d) {
  if (!d.take("b32")) d.refuse("'.b32' is needed");
  d.expect_operands(5);
  const std::uint64_t table = d.immediate(d.operand(4));
  if (table > 255) d.refuse("the table has 8 bits");
  d.emit(&logic_of_three, {d.destination(std::size_t{0}, 32), d.source(1, 32), d.source(2, 32), d.source(3, 32)}).imm =
      static_cast<std::int64_t>(table);
}
void funnel(Decoder& d) {
  const bool left = d.take("l");
  if (!left && !d.take("r")) d.refuse("'.l' or '.r' is needed");
  const bool wraps = d.take("wrap");
  if ((!wraps && !d.take("clamp")) || !d.take("b32")) d.refuse("'.wrap.b32' or '.clamp.b32' is needed");
  d.expect_operands(4);
  d.emit(&funnel_shift, {d.destination(std::size_t{0}, 32), d.source(1, 32), d.source(2, 32), d.source(3, 32)}).extra =
      (left ? 1 : 0) | (wraps ? 2 : 0);
}
void reverse(Decoder& d) {
  const Type t = d.take_type();
  emit_unary(d,
             known(d, t == Type::kB32   ? &unary<std::uint32_t, std::uint32_t, Reversed>
                      : t == Type::kB64 ? &unary<std::uint64_t, std::uint64_t, Reversed>
                                        : nullptr),
             bits_of(t), bits_of(t));
}

/// The place of the highest bit that is not a copy of the sign, from below or, for a shift, from above; none: all bits.
template <bool ForShift>
struct HighestBit {
  template <class T>
  std::uint32_t operator()(T a) const {
    const auto bits = static_cast<std::make_unsigned_t<T>>(a < 0 ? ~a : a);
    if (bits == 0) return ~0u;
    return static_cast<std::uint32_t>(ForShift ? std::countl_zero(bits) : std::bit_width(bits) - 1);
  }
};
template <bool ForShift>
Run finding(Type t) {
  return t == Type::kU32   ? &unary<std::uint32_t, std::uint32_t, HighestBit<ForShift>>
         : t == Type::kS32 ? &unary<std::uint32_t, std::int32_t, HighestBit<ForShift>>
         : t == Type::kU64 ? &unary<std::uint32_t, std::uint64_t, HighestBit<ForShift>>
         : t == Type::kS64 ? &unary<std::uint32_t, std::int64_t, HighestBit<ForShift>>
                           : nullptr;
}
void find_bit(Decoder& d) {
  const bool for_shift = d.take("shiftamt");
  const Type t = d.take_type();
  emit_unary(d, known(d, for_shift ? finding<true>(t) : finding<false>(t)), 32, bits_of(t));
}

void bit_field(Decoder& d, bool insert) {
  const Type t = d.take_type();
  const Run run = insert            ? (t == Type::kB32   ? &insert_bits<std::uint32_t>
                                       : t == Type::kB64 ? &insert_bits<std::uint64_t>
                                                         : nullptr)
                  : t == Type::kU32 ? &extract_bits<std::uint32_t>
                  : t == Type::kS32 ? &extract_bits<std::int32_t>
                  : t == Type::kU64 ? &extract_bits<std::uint64_t>
                  : t == Type::kS64 ? &extract_bits<std::int64_t>
                                    : nullptr;
  known(d, run);
  const std::size_t operands = insert ? 5 : 4;
  d.expect_operands(operands);
  std::vector<std::uint32_t> slots = {d.destination(std::size_t{0}, bits_of(t))};
  for (std::size_t i = 1; i < operands; ++i) slots.push_back(d.source(i, i + 2 < operands ? bits_of(t) : 32));
  d.emit(run, std::move(slots));
}

template <class A, class UnsignedA>
Run dot(Type a, Type b) {
  return is_signed(a) ? (is_signed(b) ? &dot_product<A, std::int8_t> : &dot_product<A, std::uint8_t>)
                      : (is_signed(b) ? &dot_product<UnsignedA, std::int8_t> : &dot_product<UnsignedA, std::uint8_t>);
}
void dot_of_bytes(Decoder& d, int parts) {
  const bool high = parts == 2 && d.take("hi");
  if (parts == 2 && !high && !d.take("lo")) d.refuse("'.lo' or '.hi' is needed");
  const Type a = d.take_type(), b = d.take_type();
  for (const Type t : {a, b})
    if (t != Type::kU32 && t != Type::kS32) d.refuse("not known for this type");
  d.expect_operands(4);
  d.emit(parts == 4 ? dot<std::int8_t, std::uint8_t>(a, b) : dot<std::int16_t, std::uint16_t>(a, b),
         {d.destination(std::size_t{0}, 32), d.source(1, 32), d.source(2, 32), d.source(3, 32)})
      .extra = high ? 2 : 0;
}

}  // namespace

bool decode_arithmetic(Decoder& d, std::string_view base) {
  if (base == "add") return numbers<Add>(d), true;
  if (base == "sub") return numbers<Sub>(d), true;
  if (base == "mul") return multiply(d), true;
  if (base == "mad") return multiply_add(d), true;
  if (base == "fma") return fused_multiply_add(d), true;
  if (base == "div") return divide(d), true;
  if (base == "rem") return remainder(d), true;
  if (base == "min") return extremes<Min>(d), true;
  if (base == "max") return extremes<Max>(d), true;
  if (base == "neg") return numbers_of_one<Negative>(d), true;
  if (base == "abs") return numbers_of_one<Absolute>(d), true;
  if (base == "ex2") return of_f32<Exp2>(d), true;
  if (base == "lg2") return of_f32<Log2>(d), true;
  if (base == "rcp") return approximate_or_nearest<Reciprocal>(d), true;
  if (base == "sqrt") return approximate_or_nearest<SquareRoot>(d), true;
  if (base == "rsqrt") return of_f32<ReciprocalRoot>(d), true;
  if (base == "and") return logic<And>(d), true;
  if (base == "or") return logic<Or>(d), true;
  if (base == "xor") return logic<Xor>(d), true;
  if (base == "not") return negate_bits(d), true;
  if (base == "shl") return shift<ShiftLeft>(d), true;
  if (base == "shr") return shift<ShiftRight>(d), true;
  if (base == "popc") return count<CountBits>(d), true;
  if (base == "clz") return count<LeadingZeros>(d), true;
  if (base == "bfind") return find_bit(d), true;
  if (base == "bfi") return bit_field(d, true), true;
  if (base == "bfe") return bit_field(d, false), true;
  if (base == "dp4a") return dot_of_bytes(d, 4), true;
  if (base == "dp2a") return dot_of_bytes(d, 2), true;
  if (base == "tanh") return of_f32<Tanh>(d), true;
  if (base == "sin") return of_f32<Sine>(d), true;
  if (base == "cos") return of_f32<Cosine>(d), true;
  if (base == "prmt") return permute(d), true;
  if (base == "lop3") return logic_by_table(d), true;
  if (base == "shf") return funnel(d), true;
  if (base == "brev") return reverse(d), true;
  return false;
}

}  // namespace flashfit::ptx
