// Moves, selections and addresses (PTX ISA, "Data Movement", "Comparison and Selection Instructions").
#include <fmt/format.h>

#include <algorithm>

#include "proof/ptx/lanes.hpp"

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

/// A clock: the instructions that the warp has run.
template <class T>
void read_clock(Warp& w, const Instruction& i) {
  const auto now = static_cast<T>(w.steps());
  w.each(w.at<T>(i.r[0]), [now](int) { return now; });
}
bool is_clock(const Operand& o) {
  if (o.kind != Operand::Kind::kSpecial) return false;
  const std::string_view clocks[] = {"%clock", "%clock64", "%globaltimer", "%globaltimer_lo"};
  return std::ranges::find(clocks, o.symbol) != std::end(clocks);
}

void mov(Decoder& d) {
  const Type t = d.take_type();
  d.expect_operands(2);
  const int bits = bits_of(t);
  const Operand &to = d.operand(0), &from = d.operand(1);
  if (is_clock(from)) {
    if (bits != 32 && bits != 64) d.refuse("not known for this type");
    d.emit(bits == 32 ? &read_clock<std::uint32_t> : &read_clock<std::uint64_t>, {d.destination(to, bits)});
    return;
  }
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
  if (base == "selp") return selp(d), true;
  if (base == "cvta") return cvta(d), true;
  return false;
}

}  // namespace flashfit::ptx
