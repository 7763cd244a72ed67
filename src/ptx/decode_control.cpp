// Branches and barriers (PTX ISA, "Control Flow", "Parallel Synchronization and Communication Instructions").
#include "ptx/block.hpp"
#include "ptx/decoder.hpp"

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

/// r = {id, threads, answer, says}; imm: whether it waits; extra: 1 if `says` is asked for, 3 if negated.
void barrier(Warp& w, const Instruction& i) {
  const std::uint32_t* const id = w.at<std::uint32_t>(i.r[0]);
  const std::uint32_t* const threads = w.at<std::uint32_t>(i.r[1]);
  const int first = std::countr_zero(w.mask());
  for (std::uint32_t left = w.mask(); left != 0; left &= left - 1) {
    const int l = std::countr_zero(left);
    if (id[l] != id[first] || threads[l] != threads[first])
      w.block().stop(l, i, "lanes of a warp name different barriers");
  }
  const bool says = i.extra != 0 && ((w.predicate(i.r[3]) ^ (i.extra == 3 ? ~0u : 0)) & w.mask()) != 0;
  const bool said = w.block().arrive(w, i, id[first], threads[first], i.imm != 0, says);
  if (i.extra != 0) w.set_predicate(i.r[2], said ? ~0u : 0);
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
    if (!d.take("or") || !d.take("pred")) d.refuse("'.or.pred' is known");
    d.expect_operands(3, 4);
    const std::size_t last = d.operand_count() - 1;
    Operand says = d.operand(last);
    const bool negated = std::exchange(says.negated, false);
    Instruction& i = d.emit(&barrier,
                            {d.source(1, 32), last == 3 ? d.source(2, 32) : d.constant(0, 32),
                             d.destination(std::size_t{0}, 1), d.source(says, 1)},
                            Kind::kBarrier);
    i.imm = 1;
    i.extra = negated ? 3 : 1;
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
  if (base == "bar" || base == "barrier") return barriers(d), true;
  return false;
}

}  // namespace flashfit::ptx
