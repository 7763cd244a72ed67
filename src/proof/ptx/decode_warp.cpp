// Shuffles and votes of a warp (PTX ISA, "shfl.sync", "vote.sync", "match.sync", "redux.sync").
#include <bit>
#include <functional>

#include "proof/ptx/block.hpp"
#include "proof/ptx/lanes.hpp"

namespace flashfit::ptx {
namespace {

/// Lanes of an instruction that name each other, r[0] their masks: several groups may be at it at once.
template <class Do>
void for_each_group(const Warp& w, const Instruction& i, Do each) {
  const auto* const members = w.at<std::uint32_t>(i.r[0]);
  for (std::uint32_t left = w.mask(); left != 0;) {
    const int first = std::countr_zero(left);
    const std::uint32_t group = (members[first] & w.mask()) | 1u << first;
    each(group);
    left &= ~group;
  }
}

enum class Shuffle : int { kIndex, kButterfly, kUp, kDown };

/// r = {members, d, p, a, b, c}; extra: the kind of shuffle.
void shuffle(Warp& w, const Instruction& i) {
  w.block().count(&emu::Stats::shuffles);
  auto* const d = w.at<std::uint32_t>(i.r[1]);
  const auto* const members = w.at<std::uint32_t>(i.r[0]);
  std::uint32_t a[Warp::kLanes], found = 0;
  std::copy_n(w.at<std::uint32_t>(i.r[3]), Warp::kLanes, a);
  const auto *const b = w.at<std::uint32_t>(i.r[4]), *const c = w.at<std::uint32_t>(i.r[5]);
  for (const int l : Lanes(w.mask())) {
    const int by = static_cast<int>(b[l] & 31), clamp = static_cast<int>(c[l] & 31),
              segment = static_cast<int>(c[l] >> 8 & 31);
    const int most = (l & segment) | (clamp & ~segment), least = l & segment;
    int from = l;
    bool inside = false;
    switch (static_cast<Shuffle>(i.extra)) {
      case Shuffle::kIndex:
        from = least | (by & ~segment);
        inside = from <= most;
        break;
      case Shuffle::kButterfly:
        from = l ^ by;
        inside = from <= most;
        break;
      case Shuffle::kUp:
        from = l - by;
        inside = from >= most;
        break;
      case Shuffle::kDown:
        from = l + by;
        inside = from <= most;
        break;
    }
    if (!inside) from = l;
    if (from != l && ((w.mask() & members[l]) >> from & 1) == 0)
      w.block().stop(l, i, "shfl takes the value of a lane that does not take part");
    d[l] = a[from];
    found |= static_cast<std::uint32_t>(inside) << l;
  }
  w.set_predicate(i.r[2], found);
}

void decode_shuffle(Decoder& d) {
  if (!d.take("sync")) d.refuse("'.sync' is needed");
  const Shuffle kind = d.take("bfly")   ? Shuffle::kButterfly
                       : d.take("idx")  ? Shuffle::kIndex
                       : d.take("up")   ? Shuffle::kUp
                       : d.take("down") ? Shuffle::kDown
                                        : (d.refuse("'.idx', '.bfly', '.up' or '.down' is needed"), Shuffle::kIndex);
  if (!d.take("b32")) d.refuse("'.b32' is needed");
  d.expect_operands(5);
  const Operand& to = d.operand(0);
  d.emit(
       &shuffle,
       {d.source(4, 32), d.destination(to, 32), to.second != Operand::kNone ? d.register_slot(to.second, 1) : d.sink(1),
        d.source(1, 32), d.source(2, 32), d.source(3, 32)},
       Kind::kTogether)
      .extra = static_cast<int>(kind);
}

/// r = {members, d, p}; extra: ~0 if p is negated.
std::uint32_t votes(Warp& w, const Instruction& i) {
  w.block().count(&emu::Stats::votes);
  return w.predicate(i.r[2]) ^ static_cast<std::uint32_t>(i.extra);
}
void ballot(Warp& w, const Instruction& i) {
  const std::uint32_t bits = votes(w, i);
  auto* const d = w.at<std::uint32_t>(i.r[1]);
  for_each_group(w, i, [=](std::uint32_t group) {
    for (const int l : Lanes(group)) d[l] = bits & group;
  });
}
void any(Warp& w, const Instruction& i) {
  const std::uint32_t bits = votes(w, i);
  std::uint32_t told = 0;
  for_each_group(w, i, [&](std::uint32_t group) { told |= (bits & group) != 0 ? group : 0; });
  w.set_predicate(i.r[1], told);
}
void all(Warp& w, const Instruction& i) {
  const std::uint32_t bits = votes(w, i);
  std::uint32_t told = 0;
  for_each_group(w, i, [&](std::uint32_t group) { told |= (bits & group) == group ? group : 0; });
  w.set_predicate(i.r[1], told);
}

void decode_vote(Decoder& d) {
  if (!d.take("sync")) d.refuse("'.sync' is needed");
  const bool is_ballot = d.take("ballot"), is_any = !is_ballot && d.take("any");
  if (!is_ballot && !is_any && !d.take("all")) d.refuse("'.ballot', '.any' or '.all' is needed");
  if (!d.take(is_ballot ? "b32" : "pred")) d.refuse("not known for this type");
  d.expect_operands(3);
  Operand p = d.operand(1);
  const bool negated = std::exchange(p.negated, false);
  d.emit(is_ballot ? &ballot
         : is_any  ? &any
                   : &all,
         {d.source(2, 32), d.destination(std::size_t{0}, is_ballot ? 32 : 1), d.source(p, 1)}, Kind::kTogether)
      .extra = negated ? -1 : 0;
}

/// r = {members, d, a}: the lanes of the group that have the lane's number.
template <class T>
void match_any(Warp& w, const Instruction& i) {
  w.block().count(&emu::Stats::votes);
  auto* const d = w.at<std::uint32_t>(i.r[1]);
  const T* const a = w.at<T>(i.r[2]);
  std::uint32_t equal[Warp::kLanes] = {};
  for_each_group(w, i, [&](std::uint32_t group) {
    for (const int l : Lanes(group))
      for (const int other : Lanes(group)) equal[l] |= static_cast<std::uint32_t>(a[other] == a[l]) << other;
  });
  w.each(d, [&](int l) { return equal[l]; });
}
/// r = {members, d, a, p}: the group, if all of it have one number, else 0; and whether they have.
template <class T>
void match_all(Warp& w, const Instruction& i) {
  w.block().count(&emu::Stats::votes);
  auto* const d = w.at<std::uint32_t>(i.r[1]);
  const T* const a = w.at<T>(i.r[2]);
  std::uint32_t same = 0, groups[Warp::kLanes] = {};
  for_each_group(w, i, [&](std::uint32_t group) {
    const T first = a[std::countr_zero(group)];
    bool all = true;
    for (const int l : Lanes(group)) all = all && a[l] == first;
    if (!all) return;
    same |= group;
    for (const int l : Lanes(group)) groups[l] = group;
  });
  w.each(d, [&](int l) { return groups[l]; });
  w.set_predicate(i.r[3], same);
}

void decode_match(Decoder& d) {
  const bool is_any = d.take("any");
  if (!is_any && !d.take("all")) d.refuse("'.any' or '.all' is needed");
  if (!d.take("sync")) d.refuse("'.sync' is needed");
  const Type t = d.take_type();
  if (t != Type::kB32 && t != Type::kB64) d.refuse("not known for this type");
  d.expect_operands(3);
  const Operand& to = d.operand(0);
  if (is_any && to.second != Operand::kNone) d.refuse("has no predicate");
  const std::uint32_t members = d.source(2, 32), result = d.destination(to, 32), a = d.source(1, bits_of(t));
  if (is_any) {
    d.emit(t == Type::kB32 ? &match_any<std::uint32_t> : &match_any<std::uint64_t>, {members, result, a},
           Kind::kTogether);
    return;
  }
  d.emit(t == Type::kB32 ? &match_all<std::uint32_t> : &match_all<std::uint64_t>,
         {members, result, a, to.second != Operand::kNone ? d.register_slot(to.second, 1) : d.sink(1)},
         Kind::kTogether);
}

/// r = {d}.
void active_lanes(Warp& w, const Instruction& i) {
  const std::uint32_t lanes = w.mask();
  w.each(w.at<std::uint32_t>(i.r[0]), [lanes](int) { return lanes; });
}

/// r = {members, d, a}.
template <class T, class Op>
void reduce(Warp& w, const Instruction& i) {
  w.block().count(&emu::Stats::shuffles);
  const T* const a = w.at<T>(i.r[2]);
  T* const d = w.at<T>(i.r[1]);
  for_each_group(w, i, [=](std::uint32_t group) {
    T all = a[std::countr_zero(group)];
    for (const int l : Lanes(group & (group - 1))) all = Op{}(all, a[l]);
    for (const int l : Lanes(group)) d[l] = all;
  });
}
struct Least {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};
struct Most {
  template <class T>
  T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};

void decode_reduction(Decoder& d) {
  if (!d.take("sync")) d.refuse("'.sync' is needed");
  const std::string_view op = d.take_word();
  const Type t = d.take_type();
  const bool is_signed = t == Type::kS32;
  Run run = nullptr;
  if (op == "add" && (is_signed || t == Type::kU32)) run = &reduce<std::uint32_t, std::plus<>>;
  if (op == "min" && (is_signed || t == Type::kU32))
    run = is_signed ? &reduce<std::int32_t, Least> : &reduce<std::uint32_t, Least>;
  if (op == "max" && (is_signed || t == Type::kU32))
    run = is_signed ? &reduce<std::int32_t, Most> : &reduce<std::uint32_t, Most>;
  if (op == "and" && t == Type::kB32) run = &reduce<std::uint32_t, std::bit_and<>>;
  if (op == "or" && t == Type::kB32) run = &reduce<std::uint32_t, std::bit_or<>>;
  if (op == "xor" && t == Type::kB32) run = &reduce<std::uint32_t, std::bit_xor<>>;
  if (run == nullptr) d.refuse("this reduction is not known");
  d.expect_operands(3);
  d.emit(run, {d.source(2, 32), d.destination(std::size_t{0}, 32), d.source(1, 32)}, Kind::kTogether);
}

}  // namespace

bool decode_warp(Decoder& d, std::string_view base) {
  if (base == "shfl") return decode_shuffle(d), true;
  if (base == "vote") return decode_vote(d), true;
  if (base == "match") return decode_match(d), true;
  if (base == "redux") return decode_reduction(d), true;
  if (base == "activemask") {
    if (!d.take("b32")) d.refuse("'.b32' is needed");
    d.expect_operands(1);
    d.emit(&active_lanes, {d.destination(std::size_t{0}, 32)});
    return true;
  }
  return false;
}

}  // namespace flashfit::ptx
