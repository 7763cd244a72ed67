// Comparisons (PTX ISA, "Comparison and Selection Instructions": setp, set).
#include <cmath>

#include "core/base/half.hpp"
#include "proof/ptx/lanes.hpp"

namespace flashfit::ptx {
namespace {

// Comparisons. Of floats, those that end in u hold for NaN too.
template <class Is, bool Unordered>
struct Compare {
  template <class T>
  bool operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      if (std::isnan(a) || std::isnan(b)) return Unordered;
    return Is{}(a, b);
  }
};
struct Ordered {
  template <class T>
  bool operator()(T a, T b) const {
    return !std::isnan(static_cast<double>(a)) && !std::isnan(static_cast<double>(b));
  }
};
struct IsNan {
  template <class T>
  bool operator()(T a, T b) const {
    return !Ordered{}(a, b);
  }
};

/// One or two 16-bit floats in a register, compared as the numbers that they are.
template <class Half, class Is>
bool compare_half(std::uint32_t a, std::uint32_t b, int at) {
  const auto number = [at](std::uint32_t bits) {
    return to_float(Half{static_cast<std::uint16_t>(bits >> (16 * at))});
  };
  return Is{}(number(a), number(b));
}
template <class Half, class Is>
struct CompareHalf {
  bool operator()(std::uint16_t a, std::uint16_t b) const { return compare_half<Half, Is>(a, b, 0); }
};

/// r = {p, a, b, c, q}: p = compare(a, b) op c; q its opposite, op c. imm: how c joins: 0 not, 1 and, 2 or, 3 xor.
/// extra: ~0 if c is negated.
template <class T, class Is>
void setp(Warp& w, const Instruction& i) {
  const T *const a = w.at<T>(i.r[1]), *const b = w.at<T>(i.r[2]);
  std::uint32_t bits = 0;
  for (int l = 0; l < Warp::kLanes; ++l) bits |= static_cast<std::uint32_t>(Is{}(a[l], b[l])) << l;
  std::uint32_t other = ~bits;
  if (i.imm != 0) {
    const std::uint32_t c = w.predicate(i.r[3]) ^ static_cast<std::uint32_t>(i.extra);
    bits = i.imm == 1 ? bits & c : i.imm == 2 ? bits | c : bits ^ c;
    other = i.imm == 1 ? other & c : i.imm == 2 ? other | c : other ^ c;
  }
  w.set_predicate(i.r[0], bits);
  w.set_predicate(i.r[4], other);
}

/// r as in setp(): p and q are of the lower and the upper half.
template <class Half, class Is>
void setp_halves(Warp& w, const Instruction& i) {
  const auto *const a = w.at<std::uint32_t>(i.r[1]), *const b = w.at<std::uint32_t>(i.r[2]);
  std::uint32_t bits[2] = {};
  for (int l = 0; l < Warp::kLanes; ++l)
    for (int at = 0; at < 2; ++at) bits[at] |= static_cast<std::uint32_t>(compare_half<Half, Is>(a[l], b[l], at)) << l;
  w.set_predicate(i.r[0], bits[0]);
  w.set_predicate(i.r[4], bits[1]);
}

struct Less {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Greater {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct GreaterEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};
struct Equal {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a != b;
  }
};

/// With ".ftz": subnormal numbers are zeros.
template <class Is>
struct CompareFlushed {
  bool operator()(float a, float b) const {
    const auto flushed = [](float x) { return std::fpclassify(x) == FP_SUBNORMAL ? 0.f : x; };
    return Is{}(flushed(a), flushed(b));
  }
};

template <class Is>
Run comparing(Type t, bool flushes) {
  if (flushes) return t == Type::kF32 ? &setp<float, CompareFlushed<Is>> : nullptr;
  if (t == Type::kF16) return &setp<std::uint16_t, CompareHalf<f16, Is>>;
  if (t == Type::kBF16) return &setp<std::uint16_t, CompareHalf<bf16, Is>>;
  if (t == Type::kF16x2) return &setp_halves<f16, Is>;
  if (t == Type::kBF16x2) return &setp_halves<bf16, Is>;
  if (t == Type::kF32) return &setp<float, Is>;
  if (t == Type::kF64) return &setp<double, Is>;
  if (t >= Type::kB16 && t <= Type::kB64)
    return for_bits(bits_of(t), [](auto x) -> Run { return &setp<decltype(x), Is>; });
  return for_integer(t, [](auto x) -> Run { return &setp<decltype(x), Is>; });
}

// set: the answer as a number, all bits or 1.
template <class To, To Yes, class Is>
struct Answer {
  template <class T>
  To operator()(T a, T b) const {
    return Is{}(a, b) ? Yes : To{0};
  }
};
template <class Half, std::uint16_t Yes, class Is>
struct AnswerOfHalves {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    return (compare_half<Half, Is>(a, b, 0) ? Yes : 0u) | (compare_half<Half, Is>(a, b, 1) ? std::uint32_t{Yes} : 0u)
                                                              << 16;
  }
};
template <class Is, class To, To Yes>
Run answering(Type from, bool flushes) {
  using Says = Answer<To, Yes, Is>;
  if (flushes) return from == Type::kF32 ? &binary<float, Answer<To, Yes, CompareFlushed<Is>>, To> : nullptr;
  if (from == Type::kF32) return &binary<float, Says, To>;
  if (from == Type::kF64) return &binary<double, Says, To>;
  if (from >= Type::kB16 && from <= Type::kB64)
    return for_bits(bits_of(from), [](auto x) -> Run { return &binary<decltype(x), Says, To>; });
  return for_integer(from, [](auto x) -> Run { return &binary<decltype(x), Says, To>; });
}
template <class Is>
Run setting(Type to, Type from, bool flushes) {
  constexpr std::uint16_t kAll = 0xffff, kOneF16 = 0x3c00, kOneBF16 = 0x3f80;
  const bool to_bits = to == Type::kU32 || to == Type::kS32, to_bits16 = to == Type::kU16 || to == Type::kS16;
  if (from == Type::kF16x2 || from == Type::kBF16x2) {
    const bool is_f16 = from == Type::kF16x2;
    if (to != from && !to_bits) return nullptr;
    return to_bits  ? (is_f16 ? &binary<std::uint32_t, AnswerOfHalves<f16, kAll, Is>>
                              : &binary<std::uint32_t, AnswerOfHalves<bf16, kAll, Is>>)
           : is_f16 ? &binary<std::uint32_t, AnswerOfHalves<f16, kOneF16, Is>>
                    : &binary<std::uint32_t, AnswerOfHalves<bf16, kOneBF16, Is>>;
  }
  if (from == Type::kF16 || from == Type::kBF16) {
    const bool is_f16 = from == Type::kF16;
    using OfF16 = CompareHalf<f16, Is>;
    using OfBF16 = CompareHalf<bf16, Is>;
    if (to == from)
      return is_f16 ? &binary<std::uint16_t, Answer<std::uint16_t, kOneF16, OfF16>>
                    : &binary<std::uint16_t, Answer<std::uint16_t, kOneBF16, OfBF16>>;
    if (to_bits16)
      return is_f16 ? &binary<std::uint16_t, Answer<std::uint16_t, kAll, OfF16>>
                    : &binary<std::uint16_t, Answer<std::uint16_t, kAll, OfBF16>>;
    if (!to_bits) return nullptr;
    return is_f16 ? &binary<std::uint16_t, Answer<std::uint32_t, ~0u, OfF16>, std::uint32_t>
                  : &binary<std::uint16_t, Answer<std::uint32_t, ~0u, OfBF16>, std::uint32_t>;
  }
  if (to == Type::kF32) return answering<Is, float, 1.f>(from, flushes);
  return to_bits ? answering<Is, std::uint32_t, ~0u>(from, flushes) : nullptr;
}

struct Comparison {
  std::string_view name;
  Run (*setp)(Type, bool flushes);
  Run (*set)(Type to, Type from, bool flushes);
};
template <class Is>
constexpr Comparison of(std::string_view name) {
  return {name, &comparing<Is>, &setting<Is>};
}
const Comparison* take_comparison(Decoder& d) {
  static constexpr Comparison kAll[] = {of<Compare<Equal, false>>("eq"),
                                        of<Compare<NotEqual, false>>("ne"),
                                        of<Compare<Less, false>>("lt"),
                                        of<Compare<LessEqual, false>>("le"),
                                        of<Compare<Greater, false>>("gt"),
                                        of<Compare<GreaterEqual, false>>("ge"),
                                        of<Compare<Equal, true>>("equ"),
                                        of<Compare<NotEqual, true>>("neu"),
                                        of<Compare<Less, true>>("ltu"),
                                        of<Compare<LessEqual, true>>("leu"),
                                        of<Compare<Greater, true>>("gtu"),
                                        of<Compare<GreaterEqual, true>>("geu"),
                                        of<Ordered>("num"),
                                        of<IsNan>("nan"),
                                        of<Compare<Less, false>>("lo"),
                                        of<Compare<LessEqual, false>>("ls"),
                                        of<Compare<Greater, false>>("hi"),
                                        of<Compare<GreaterEqual, false>>("hs")};
  const std::string_view name = d.take_word();
  for (const Comparison& c : kAll)
    if (c.name == name) return &c;
  d.refuse("the comparison is not known");
}

void set_predicate(Decoder& d) {
  const Comparison& comparison = *take_comparison(d);
  const int joins = d.take("and") ? 1 : d.take("or") ? 2 : d.take("xor") ? 3 : 0;
  const bool flushes = d.take("ftz");
  const Type t = d.take_type();
  d.expect_operands(joins != 0 ? 4 : 3);
  const Run run = comparison.setp(t, flushes);
  if (run == nullptr) d.refuse("not known for this type");
  if (joins != 0 && (t == Type::kF16x2 || t == Type::kBF16x2)) d.refuse("not known for this type with a third operand");
  const Operand& to = d.operand(0);
  Operand c = joins != 0 ? d.operand(3) : Operand{};
  const bool negated = std::exchange(c.negated, false);
  Instruction& i = d.emit(run, {d.destination(to, 1), d.source(1, bits_of(t)), d.source(2, bits_of(t)),
                                joins != 0 ? d.source(c, 1) : d.constant(1, 1),
                                to.second != Operand::kNone ? d.register_slot(to.second, 1) : d.sink(1)});
  i.imm = joins;
  i.extra = negated ? -1 : 0;
}

void set_number(Decoder& d) {
  const Comparison& comparison = *take_comparison(d);
  const bool flushes = d.take("ftz");
  const Type to = d.take_type(), from = d.take_type();
  d.expect_operands(3);
  const Run run = comparison.set(to, from, flushes);
  if (run == nullptr) d.refuse("not known for these types");
  d.emit(run, {d.destination(std::size_t{0}, bits_of(to)), d.source(1, bits_of(from)), d.source(2, bits_of(from))});
}

}  // namespace

bool decode_comparison(Decoder& d, std::string_view base) {
  if (base == "setp") return set_predicate(d), true;
  if (base == "set") return set_number(d), true;
  return false;
}

}  // namespace flashfit::ptx
