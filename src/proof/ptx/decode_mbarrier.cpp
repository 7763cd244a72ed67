// mbarriers (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier"): the emulator's
// (proof/emu/mbarriers.hpp), each lane's in its turn.
#include <fmt/format.h>

#include "proof/ptx/block.hpp"
#include "proof/ptx/lanes.hpp"

namespace flashfit::ptx {
namespace {

constexpr std::size_t kBytes = emu::MBarriers::kBytes;

/// How an instruction finds its barrier: r[0] is the address's slot, imm the offset; extra's lowest bits say how.
constexpr int kWide = 1, kGeneric = 2;
std::uintptr_t place(const Warp& w, const Instruction& i, int lane) {
  std::uint64_t at = (i.extra & kWide) != 0 ? w.at<std::uint64_t>(i.r[0])[lane] + static_cast<std::uint64_t>(i.imm)
                                            : w.at<std::uint32_t>(i.r[0])[lane] + static_cast<std::uint32_t>(i.imm);
  if ((i.extra & kGeneric) != 0) {
    if (at - Program::kSharedWindow > UINT32_MAX)
      w.block().stop(lane, i,
                     fmt::format("{} at {:#x}, which is no address of shared memory", w.block().name_of(i), at));
    at -= Program::kSharedWindow;
  }
  return w.block().shared_place(lane, i, at, kBytes, w.block().name_of(i));
}

template <class Do>
void for_each(Warp& w, const Instruction& i, Do each) {
  emu::Machine& machine = w.block().machine();
  machine.watch();
  for (const int lane : Lanes(w.mask())) {
    const std::uintptr_t at = place(w, i, lane);
    machine.speaks_for(lane);
    each(machine, machine.engines().mbarriers, at, lane);
  }
}

/// r = {address, arrivals}.
void init(Warp& w, const Instruction& i) {
  for_each(w, i, [&](emu::Machine& machine, emu::MBarriers& all, std::uintptr_t at, int lane) {
    all.init(machine, at, w.at<std::int32_t>(i.r[1])[lane], w.block().place_of(i));
  });
}
void invalidate(Warp& w, const Instruction& i) {
  for_each(w, i, [&](emu::Machine& machine, emu::MBarriers& all, std::uintptr_t at, int) {
    all.inval(machine, at, w.block().place_of(i));
  });
}
/// r = {address, arrivals, bytes, state}: the barrier first expects the bytes; the state is the phase's number.
template <bool Arrives, bool Expects>
void arrive(Warp& w, const Instruction& i) {
  for_each(w, i, [&](emu::Machine& machine, emu::MBarriers& all, std::uintptr_t at, int lane) {
    const emu::Site& site = w.block().place_of(i);
    if (i.r[3] != 0) w.at<std::uint64_t>(i.r[3])[lane] = all.phase(machine, at, site);
    if (Expects) all.expect_bytes(machine, at, w.at<std::int32_t>(i.r[2])[lane], site);
    if (Arrives) all.arrive(machine, at, w.at<std::int32_t>(i.r[1])[lane], site);
  });
}

/// r = {address, parity, complete}. A warp that asks for the same again and again waits for it, unless lanes of its own
/// may still bring it about. `extra` also says whether it learns what came from other blocks.
constexpr int kCluster = 4, kState = 8;
void test(Warp& w, const Instruction& i) {
  Block& block = w.block();
  std::uint32_t complete = 0;
  bool in_vain = false;
  for_each(w, i, [&](emu::Machine& machine, emu::MBarriers& all, std::uintptr_t at, int lane) {
    const int parity = (i.extra & kState) != 0 ? static_cast<int>(w.at<std::uint64_t>(i.r[1])[lane] & 1)
                                               : static_cast<int>(w.at<std::uint32_t>(i.r[1])[lane]);
    const emu::Site& site = block.place_of(i);
    if (static_cast<int>(all.phase(machine, at, site) & 1) != (parity & 1)) {
      all.wait(machine, at, parity, (i.extra & kCluster) != 0, site);  // it is complete: what it tells is learnt
      complete |= 1u << lane;
      return;
    }
    in_vain = true;
    if (all.test(machine, at, parity, site)) complete |= 1u << lane;
  });
  if (in_vain && complete != w.mask() && !w.let_others_run() && w.asks_in_a_loop()) {
    const int lane = std::countr_zero(w.mask() & ~complete);
    emu::Machine& machine = block.machine();
    const std::uintptr_t at = place(w, i, lane);
    const int parity = (i.extra & kState) != 0 ? static_cast<int>(w.at<std::uint64_t>(i.r[1])[lane] & 1)
                                               : static_cast<int>(w.at<std::uint32_t>(i.r[1])[lane]);
    machine.engines().mbarriers.wait(machine, at, parity, (i.extra & kCluster) != 0, block.place_of(i));
  }
  w.set_predicate(i.r[2], complete);
}

int address_form(const Decoder::Address& at, bool generic) {
  return (at.bits == 64 ? kWide : 0) | (generic ? kGeneric : 0);
}

bool is_shared(Decoder& d) { return d.take_any({"shared", "shared::cta", "shared::cluster"}); }

/// ".release.cta" and the like; whether other blocks are meant.
bool take_scope(Decoder& d) {
  d.take_any({"release", "acquire", "relaxed"});
  if (d.take("cluster")) return true;
  d.take("cta");
  return false;
}

Instruction& one_address(Decoder& d, Run run, const char* name) {
  const bool generic = !is_shared(d);
  if (!d.take("b64")) d.refuse("'.b64' is needed");
  const bool counts = run == &init;
  d.expect_operands(counts ? 2 : 1);
  const Decoder::Address at = d.address(d.operand(0), generic ? Space::kGeneric : Space::kShared);
  Instruction& i = d.emit(run, {at.slot, counts ? d.source(1, 32) : 0});
  i.imm = at.offset;
  i.extra = address_form(at, generic);
  d.names_access(i, name);
  return i;
}

void arrives(Decoder& d, bool arrives_too, bool drops) {
  if (drops) d.refuse("'.arrive_drop' is not known");
  const bool expects = !arrives_too || d.take("expect_tx");
  if (d.take_any({"noComplete", "drop"})) d.refuse("not known");
  take_scope(d);
  const bool generic = !is_shared(d);
  if (!d.take("b64")) d.refuse("'.b64' is needed");
  const std::size_t first =
      arrives_too && d.operand_count() != 0 && d.operand(0).kind != Operand::Kind::kAddress ? 1 : 0;
  d.expect_operands(first + 1 + (expects ? 1 : 0), first + 2);
  const Decoder::Address at = d.address(d.operand(first), generic ? Space::kGeneric : Space::kShared);
  const std::uint32_t number = d.operand_count() == first + 2 ? d.source(first + 1, 32) : d.constant(1, 32);
  const bool keeps = first == 1 && d.operand(0).kind != Operand::Kind::kSink;
  Instruction& i = d.emit(arrives_too ? (expects ? &arrive<true, true> : &arrive<true, false>) : &arrive<false, true>,
                          {at.slot, expects ? d.constant(1, 32) : number, number, keeps ? d.destination(0, 64) : 0});
  i.imm = at.offset;
  i.extra = address_form(at, generic);
  d.names_access(i, arrives_too ? "mbarrier.arrive" : "mbarrier.expect_tx");
}

void waits(Decoder& d) {
  const bool parity = d.take("parity");
  const bool cluster = take_scope(d);
  const bool generic = !is_shared(d);
  if (!d.take("b64")) d.refuse("'.b64' is needed");
  d.expect_operands(3, 4);  // the fourth says how long to wait at most
  const Decoder::Address at = d.address(d.operand(1), generic ? Space::kGeneric : Space::kShared);
  Instruction& i =
      d.emit(&test, {at.slot, d.source(2, parity ? 32 : 64), d.destination(std::size_t{0}, 1)}, Kind::kAsk);
  i.imm = at.offset;
  i.extra = address_form(at, generic) | (cluster ? kCluster : 0) | (parity ? 0 : kState);
  d.names_access(i, "mbarrier.test_wait");
}

/// extra: how the barrier is found, and whether the arrival is one of those that it was made for.
constexpr int kCounted = 4;
void arrive_with_copies(Warp& w, const Instruction& i) {
  for_each(w, i, [&](emu::Machine& machine, emu::MBarriers&, std::uintptr_t at, int) {
    machine.arrive_with_copies(at, (i.extra & kCounted) != 0, w.block().name_of(i), w.block().place_of(i));
  });
}

}  // namespace

void decode_copy_arrival(Decoder& d) {
  if (!d.take("arrive")) d.refuse("'.arrive' is needed");
  const bool counted = d.take("noinc");
  one_address(d, &arrive_with_copies, "cp.async.mbarrier.arrive").extra |= counted ? kCounted : 0;
}

bool decode_mbarrier(Decoder& d, std::string_view base) {
  if (base != "mbarrier") return false;
  const std::string_view what = d.take_word();
  if (what == "init") return one_address(d, &init, "mbarrier.init"), true;
  if (what == "inval") return one_address(d, &invalidate, "mbarrier.inval"), true;
  if (what == "arrive" || what == "arrive_drop") return arrives(d, true, what == "arrive_drop"), true;
  if (what == "expect_tx") return arrives(d, false, false), true;
  if (what == "test_wait" || what == "try_wait") return waits(d), true;
  return false;
}

}  // namespace flashfit::ptx
