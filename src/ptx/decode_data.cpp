// Moves, comparisons and selections (PTX ISA, "Data Movement", "Comparison and Selection Instructions").
#include <fmt/format.h>

#include <cmath>

#include "ptx/lanes.hpp"

namespace flashfit::ptx {
namespace {

template <class T>
void move(Warp& w, const Instruction& i) {
  T* const d = w.at<T>(i.r[0]);
  const T* const a = w.at<T>(i.r[1]);
  w.each(d, [=](int l) { return a[l]; });
}
void move_predicate(Warp& w, const Instruction& i) { w.set_predicate(i.r[0], w.predicate(i.r[1])); }

/// Parts become a whole, the first one its lowest bits.
template <class Whole, class Part, int Parts>
void join(Warp& w, const Instruction& i) {
  Whole* const d = w.at<Whole>(i.r[0]);
  w.each(d, [&](int l) {
    Whole all = 0;
    for (int p = 0; p < Parts; ++p) all |= static_cast<Whole>(w.at<Part>(i.r[1 + p])[l]) << (p * sizeof(Part) * 8);
    return all;
  });
}
template <class Whole, class Part, int Parts>
void part(Warp& w, const Instruction& i) {
  for (int p = 0; p < Parts; ++p) {
    Part* const d = w.at<Part>(i.r[p]);
    const Whole* const a = w.at<Whole>(i.r[Parts]);
    w.each(d, [=](int l) { return static_cast<Part>(a[l] >> (p * sizeof(Part) * 8)); });
  }
}

Run joining(int whole, std::size_t parts) {
  if (whole == 32 && parts == 2) return &join<std::uint32_t, std::uint16_t, 2>;
  if (whole == 64 && parts == 2) return &join<std::uint64_t, std::uint32_t, 2>;
  if (whole == 64 && parts == 4) return &join<std::uint64_t, std::uint16_t, 4>;
  return nullptr;
}
Run parting(int whole, std::size_t parts) {
  if (whole == 32 && parts == 2) return &part<std::uint32_t, std::uint16_t, 2>;
  if (whole == 64 && parts == 2) return &part<std::uint64_t, std::uint32_t, 2>;
  if (whole == 64 && parts == 4) return &part<std::uint64_t, std::uint16_t, 4>;
  return nullptr;
}

void mov(Decoder& d) {
  const Type t = d.take_type();
  d.expect_operands(2);
  const int bits = bits_of(t);
  const Operand &to = d.operand(0), &from = d.operand(1);
  if (from.kind == Operand::Kind::kVector) {
    const Run run = joining(bits, from.parts.size());
    if (run == nullptr) d.refuse(fmt::format("{} parts of {} bits", from.parts.size(), bits));
    std::vector<std::uint32_t> slots = {d.destination(to, bits)};
    for (const Operand& p : from.parts) slots.push_back(d.source(p, bits / static_cast<int>(from.parts.size())));
    d.emit(run, std::move(slots));
    return;
  }
  if (to.kind == Operand::Kind::kVector) {
    const Run run = parting(bits, to.parts.size());
    if (run == nullptr) d.refuse(fmt::format("{} parts of {} bits", to.parts.size(), bits));
    std::vector<std::uint32_t> slots;
    for (const Operand& p : to.parts) slots.push_back(d.destination(p, bits / static_cast<int>(to.parts.size())));
    slots.push_back(d.source(from, bits));
    d.emit(run, std::move(slots));
    return;
  }
  const Run run = bits == 1 ? &move_predicate : for_bits(bits, [](auto x) -> Run { return &move<decltype(x)>; });
  if (run == nullptr) d.refuse("not known for this type");
  d.emit(run, {d.destination(to, bits), d.source(from, bits)});
}

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
  if (t == Type::kF32) return &setp<float, Is>;
  if (t == Type::kF64) return &setp<double, Is>;
  if (t >= Type::kB16 && t <= Type::kB64)
    return for_bits(bits_of(t), [](auto x) -> Run { return &setp<decltype(x), Is>; });
  return for_integer(t, [](auto x) -> Run { return &setp<decltype(x), Is>; });
}

using Chooser = Run (*)(Type, bool);
Chooser comparison(std::string_view name) {
  constexpr std::pair<std::string_view, Chooser> kAll[] = {{"eq", &comparing<Compare<Equal, false>>},
                                                           {"ne", &comparing<Compare<NotEqual, false>>},
                                                           {"lt", &comparing<Compare<Less, false>>},
                                                           {"le", &comparing<Compare<LessEqual, false>>},
                                                           {"gt", &comparing<Compare<Greater, false>>},
                                                           {"ge", &comparing<Compare<GreaterEqual, false>>},
                                                           {"equ", &comparing<Compare<Equal, true>>},
                                                           {"neu", &comparing<Compare<NotEqual, true>>},
                                                           {"ltu", &comparing<Compare<Less, true>>},
                                                           {"leu", &comparing<Compare<LessEqual, true>>},
                                                           {"gtu", &comparing<Compare<Greater, true>>},
                                                           {"geu", &comparing<Compare<GreaterEqual, true>>},
                                                           {"num", &comparing<Ordered>},
                                                           {"nan", &comparing<IsNan>},
                                                           {"lo", &comparing<Compare<Less, false>>},
                                                           {"ls", &comparing<Compare<LessEqual, false>>},
                                                           {"hi", &comparing<Compare<Greater, false>>},
                                                           {"hs", &comparing<Compare<GreaterEqual, false>>}};
  for (const auto& [known, chooser] : kAll)
    if (known == name) return chooser;
  return nullptr;
}

void set_predicate(Decoder& d) {
  const Chooser chooser = comparison(d.take_word());
  if (chooser == nullptr) d.refuse("the comparison is not known");
  const int joins = d.take("and") ? 1 : d.take("or") ? 2 : d.take("xor") ? 3 : 0;
  const bool flushes = d.take("ftz");
  const Type t = d.take_type();
  d.expect_operands(joins != 0 ? 4 : 3);
  const Run run = chooser(t, flushes);
  if (run == nullptr) d.refuse("not known for this type");
  const Operand& to = d.operand(0);
  Operand c = joins != 0 ? d.operand(3) : Operand{};
  const bool negated = std::exchange(c.negated, false);
  Instruction& i = d.emit(run, {d.destination(to, 1), d.source(1, bits_of(t)), d.source(2, bits_of(t)),
                                joins != 0 ? d.source(c, 1) : d.constant(1, 1),
                                to.second != Operand::kNone ? d.register_slot(to.second, 1) : d.sink(1)});
  i.imm = joins;
  i.extra = negated ? -1 : 0;
}

template <class T>
void select(Warp& w, const Instruction& i) {
  T* const d = w.at<T>(i.r[0]);
  const T *const a = w.at<T>(i.r[1]), *const b = w.at<T>(i.r[2]);
  const std::uint32_t p = w.predicate(i.r[3]);
  w.each(d, [=](int l) { return (p >> l & 1) != 0 ? a[l] : b[l]; });
}

void selp(Decoder& d) {
  const Type t = d.take_type();
  d.expect_operands(4);
  const Run run = for_bits(bits_of(t), [](auto x) -> Run { return &select<decltype(x)>; });
  if (run == nullptr) d.refuse("not known for this type");
  d.emit(run,
         {d.destination(std::size_t{0}, bits_of(t)), d.source(1, bits_of(t)), d.source(2, bits_of(t)), d.source(3, 1)});
}

/// Between generic addresses and those of a space; imm: the window's base, added or taken off.
void convert_address(Warp& w, const Instruction& i) {
  auto* const d = w.at<std::uint64_t>(i.r[0]);
  const auto* const a = w.at<std::uint64_t>(i.r[1]);
  const auto base = static_cast<std::uint64_t>(i.imm);
  w.each(d, [=](int l) { return a[l] + base; });
}

void cvta(Decoder& d) {
  const bool to = d.take("to");
  const std::string_view space = d.take_word();
  if (d.take_type() != Type::kU64) d.refuse("not known for this type");
  d.expect_operands(2);
  std::uint64_t window = 0;
  if (space == "shared" || space == "shared::cta" || space == "shared::cluster")
    window = Program::kSharedWindow;
  else if (space == "local")
    window = Program::kLocalWindow;
  else if (space == "param" || space == "param::entry")
    window = Program::kParamWindow;
  else if (space != "global" && space != "const")
    d.refuse("the state space is not known");
  d.emit(&convert_address, {d.destination(std::size_t{0}, 64), d.source(1, 64)}).imm =
      static_cast<std::int64_t>(to ? ~window + 1 : window);
}

}  // namespace

bool decode_data(Decoder& d, std::string_view base) {
  if (base == "mov") return mov(d), true;
  if (base == "setp") return set_predicate(d), true;
  if (base == "selp") return selp(d), true;
  if (base == "cvta") return cvta(d), true;
  return false;
}

}  // namespace flashfit::ptx
