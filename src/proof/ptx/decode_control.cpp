// Branches and barriers (PTX ISA, "Control Flow", "Parallel Synchronization and Communication Instructions").
#include <bit>

#include "proof/ptx/block.hpp"
#include "proof/ptx/lanes.hpp"

namespace flashfit::ptx {
namespace {

void nothing(Warp&, const Instruction&) {}

void branch(Decoder& d) {
  d.take("uni");
  d.expect_operands(1);
  const std::int32_t to = d.label(d.operand(0));
  d.emit(&nothing, {}, Kind::kBranch).extra = to;
}

void leave(Decoder& d) {
  d.take("uni");
  d.expect_operands(0);
  d.emit(&nothing, {}, Kind::kExit);
}

/// trap and brkpt: what a kernel does that has found something wrong.
void trap(Warp& w, const Instruction& i) {
  w.block().stop(std::countr_zero(w.mask()), i, "the kernel ends itself by a trap");
}

/// What a barrier tells of the predicates that its threads bring: whether one or all of them hold, or how many do.
enum class Asks : int { kNothing, kOr, kAnd, kCount };
constexpr int kNegated = 4;

/// r = {id, threads, answer, says}; imm: whether it waits; extra: what is asked for, kNegated.
void barrier(Warp& w, const Instruction& i) {
  const std::uint32_t* const id = w.at<std::uint32_t>(i.r[0]);
  const std::uint32_t* const threads = w.at<std::uint32_t>(i.r[1]);
  const int first = std::countr_zero(w.mask());
  for (const int l : Lanes(w.mask())) {
    if (id[l] != id[first] || threads[l] != threads[first])
      w.block().stop(l, i, "lanes of a warp name different barriers");
  }
  const auto asks = static_cast<Asks>(i.extra & 3);
  // All hold where none does not.
  const bool counts_false = ((i.extra & kNegated) != 0) != (asks == Asks::kAnd);
  const std::uint32_t says = asks == Asks::kNothing ? 0 : (w.predicate(i.r[3]) ^ (counts_false ? ~0u : 0)) & w.mask();
  const int said = w.block().arrive(w, i, id[first], threads[first], i.imm != 0, std::popcount(says));
  if (asks == Asks::kCount)
    w.each(w.at<std::uint32_t>(i.r[2]), [said](int) { return static_cast<std::uint32_t>(said); });
  else if (asks != Asks::kNothing)
    w.set_predicate(i.r[2], (said != 0) == (asks == Asks::kOr) ? ~0u : 0);
}

void barriers(Decoder& d) {
  d.take("cta");
  if (d.take("warp")) {
    if (!d.take("sync")) d.refuse("'.sync' is needed");
    d.expect_operands(1);
    d.emit(&nothing, {d.source(0, 32)}, Kind::kTogether);
    return;
  }
  if (d.take("red")) {
    const Asks asks = d.take("or")     ? Asks::kOr
                      : d.take("and")  ? Asks::kAnd
                      : d.take("popc") ? Asks::kCount
                                       : (d.refuse("'.or', '.and' or '.popc' is needed"), Asks::kNothing);
    d.take("aligned");
    if (!d.take(asks == Asks::kCount ? "u32" : "pred")) d.refuse("not known for this type");
    d.expect_operands(3, 4);
    const std::size_t last = d.operand_count() - 1;
    Operand says = d.operand(last);
    const bool negated = std::exchange(says.negated, false);
    Instruction& i = d.emit(&barrier,
                            {d.source(1, 32), last == 3 ? d.source(2, 32) : d.constant(0, 32),
                             d.destination(std::size_t{0}, asks == Asks::kCount ? 32 : 1), d.source(says, 1)},
                            Kind::kBarrier);
    i.imm = 1;
    i.extra = static_cast<int>(asks) | (negated ? kNegated : 0);
    return;
  }
  const bool waits = d.take("sync");
  if (!waits && !d.take("arrive")) d.refuse("'.sync', '.arrive' or '.red' is needed");
  d.take("aligned");
  d.expect_operands(waits ? 1 : 2, 2);
  d.emit(&barrier, {d.source(0, 32), d.operand_count() == 2 ? d.source(1, 32) : d.constant(0, 32)}, Kind::kBarrier)
      .imm = waits ? 1 : 0;
}

}  // namespace

bool decode_control(Decoder& d, std::string_view base) {
  if (base == "bra") return branch(d), true;
  if (base == "ret" || base == "exit") return leave(d), true;
  if (base == "trap" || base == "brkpt") {
    d.expect_operands(0);
    d.emit(&trap, {});
    return true;
  }
  if (base == "bar" || base == "barrier") return barriers(d), true;
  return false;
}

}  // namespace flashfit::ptx
