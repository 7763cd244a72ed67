// What a kernel asks of its cluster and its multiprocessor: barriers of clusters, places in other blocks, fences,
// registers, grids that depend on one another (PTX ISA, "barrier.cluster", "mapa", "fence", "setmaxnreg",
// "griddepcontrol").
#include <fmt/format.h>

#include "proof/ptx/block.hpp"
#include "proof/ptx/decoder.hpp"

namespace flashfit::ptx {
namespace {

void cluster_arrive(Warp& w, const Instruction& i) {
  w.block().machine().watch();
  w.block().machine().cluster_arrive(w.block().place_of(i));
}
void cluster_wait(Warp& w, const Instruction& i) {
  w.block().machine().watch();
  w.block().machine().cluster_wait(w.block().place_of(i));
}

void cluster_barrier(Decoder& d) {
  const bool arrives = d.take("arrive");
  if (!arrives && !d.take("wait")) d.refuse("'.arrive' or '.wait' is needed");
  if (d.take("relaxed")) d.refuse("'.relaxed' is not known");  // it orders nothing, which the clocks do not tell apart
  d.take_any({"release", "acquire"});
  d.take("aligned");
  d.expect_operands(0);
  d.emit(arrives ? &cluster_arrive : &cluster_wait, {}, Kind::kBarrier);
}

/// r = {d, address, block}.
template <class T>
void map_address(Warp& w, const Instruction& i) {
  T* const d = w.at<T>(i.r[0]);
  const T* const a = w.at<T>(i.r[1]);
  const auto* const block = w.at<std::uint32_t>(i.r[2]);
  w.each(d, [=](int l) {
    // Past the last block it is no address: an access to it is a finding.
    const T rank = block[l] < 255 ? static_cast<T>(block[l]) : 254;
    return (a[l] & ~static_cast<T>(0xff00'0000)) | (rank + 1) << 24;
  });
}
/// r = {d, address}: the block of the cluster that has it.
template <class T>
void block_of_address(Warp& w, const Instruction& i) {
  auto* const d = w.at<std::uint32_t>(i.r[0]);
  const T* const a = w.at<T>(i.r[1]);
  const auto own = static_cast<std::uint32_t>(w.block().machine().block_in_cluster());
  w.each(d, [=](int l) {
    const auto block = static_cast<std::uint32_t>(a[l] >> 24 & 0xff);
    return block == 0 ? own : block - 1;
  });
}

void map(Decoder& d) {
  const bool shared = d.take("shared::cluster");
  const Type t = d.take_type();
  if (t != Type::kU32 && t != Type::kU64) d.refuse("not known for this type");
  if (t == Type::kU32 && !shared) d.refuse("a generic address has 64 bits");
  d.expect_operands(3);
  d.emit(t == Type::kU32 ? &map_address<std::uint32_t> : &map_address<std::uint64_t>,
         {d.destination(std::size_t{0}, bits_of(t)), d.source(1, bits_of(t)), d.source(2, 32)});
}
void rank(Decoder& d) {
  d.take("shared::cluster");
  const Type t = d.take_type();
  if (t != Type::kU32 && t != Type::kU64) d.refuse("not known for this type");
  d.expect_operands(2);
  d.emit(t == Type::kU32 ? &block_of_address<std::uint32_t> : &block_of_address<std::uint64_t>,
         {d.destination(std::size_t{0}, 32), d.source(1, bits_of(t))});
}

// Fences.
/// Between threads: of all scopes as of the GPU's.
template <bool Sequential>
void fence_threads(Warp& w, const Instruction&) {
  emu::Machine& machine = w.block().machine();
  machine.watch();
  machine.order()->fence(machine.thread(), Sequential);
}
template <bool Shared, bool Global>
void fence_proxy(Warp& w, const Instruction&) {
  emu::Machine& machine = w.block().machine();
  machine.watch();
  if (Shared) machine.order()->fence_proxy_async(machine.thread());
  if (Global) machine.order()->fence_proxy_async_global(machine.thread());
}
void fence_init(Warp& w, const Instruction&) {
  emu::Machine& machine = w.block().machine();
  machine.watch();
  machine.engines().mbarriers.fence_init(machine);
}

void fence(Decoder& d) {
  if (d.take("proxy")) {
    if (d.take_any({"alias", "tensormap::generic"})) d.refuse("this proxy is not known");
    if (!d.take("async")) d.refuse("'.async' is needed");
    Run run = &fence_proxy<true, true>;
    if (d.take_any({"shared::cta", "shared::cluster"}))
      run = &fence_proxy<true, false>;
    else if (d.take("global"))
      run = &fence_proxy<false, true>;
    d.expect_operands(0);
    d.emit(run, {});
    return;
  }
  if (d.take("mbarrier_init")) {
    if (!d.take("release") || !d.take("cluster")) d.refuse("'.release.cluster' is needed");
    d.expect_operands(0);
    d.emit(&fence_init, {});
    return;
  }
  const bool sequential = d.take("sc");
  if (!sequential) d.take_any({"acq_rel", "acquire", "release"});
  if (!d.take_any({"cta", "cluster", "gpu", "sys"})) d.refuse("a scope is needed");
  d.expect_operands(0);
  d.emit(sequential ? &fence_threads<true> : &fence_threads<false>, {});
}
void memory_barrier(Decoder& d) {
  if (!d.take_any({"cta", "gl", "sys"})) d.refuse("'.cta', '.gl' or '.sys' is needed");
  d.expect_operands(0);
  d.emit(&fence_threads<true>, {});  // the same as fence.sc (PTX ISA, "membar")
}

/// r = {members, p, d}.
void elect(Warp& w, const Instruction& i) {
  w.block().count(&emu::Stats::votes);
  const int chosen = w.block().elected(w.mask());
  w.set_predicate(i.r[1], 1u << chosen);
  w.each(w.at<std::uint32_t>(i.r[2]), [chosen](int) { return static_cast<std::uint32_t>(chosen); });
}
void elect_one(Decoder& d) {
  if (!d.take("sync")) d.refuse("'.sync' is needed");
  d.expect_operands(2);
  const Operand& to = d.operand(0);
  d.emit(
      &elect,
      {d.source(1, 32), to.second != Operand::kNone ? d.register_slot(to.second, 1) : d.sink(1), d.destination(to, 32)},
      Kind::kTogether);
}

/// imm: registers.
template <bool Increase>
void set_registers(Warp& w, const Instruction& i) {
  emu::Machine& machine = w.block().machine();
  machine.count(&emu::Stats::register_changes);
  machine.engines().registers[static_cast<std::size_t>(machine.block_in_cluster())].set(
      machine, static_cast<int>(i.imm), Increase, w.block().place_of(i));
}
void set_most_registers(Decoder& d) {
  const bool increase = d.take("inc");
  if (!increase && !d.take("dec")) d.refuse("'.inc' or '.dec' is needed");
  if (!d.take("sync") || !d.take("aligned") || !d.take("u32")) d.refuse("'.sync.aligned.u32' is needed");
  d.expect_operands(1);
  const std::uint64_t registers = d.immediate(d.operand(0));
  d.emit(increase ? &set_registers<true> : &set_registers<false>, {}, Kind::kBarrier).imm =
      static_cast<std::int64_t>(std::min<std::uint64_t>(registers, 1024));
}

void wait_for_grid(Warp& w, const Instruction& i) { w.block().machine().grid_dependency_wait(w.block().place_of(i)); }
void launch_dependents(Warp& w, const Instruction&) { w.block().machine().launch_dependents(); }
void depend_on_grid(Decoder& d) {
  const bool waits = d.take("wait");
  if (!waits && !d.take("launch_dependents")) d.refuse("'.wait' or '.launch_dependents' is needed");
  d.expect_operands(0);
  d.emit(waits ? &wait_for_grid : &launch_dependents, {});
}

void let_others(Warp& w, const Instruction&) {
  if (!w.let_others_run()) w.block().machine().yield_to_any();
}
void sleep(Decoder& d) {
  if (!d.take("u32")) d.refuse("'.u32' is needed");
  d.expect_operands(1);
  d.emit(&let_others, {d.source(0, 32)}, Kind::kAsk);
}

}  // namespace

bool decode_cluster(Decoder& d, std::string_view base) {
  if (base == "barrier") {
    if (!d.take("cluster")) return false;
    return cluster_barrier(d), true;
  }
  if (base == "mapa") return map(d), true;
  if (base == "getctarank") return rank(d), true;
  if (base == "fence") return fence(d), true;
  if (base == "membar") return memory_barrier(d), true;
  if (base == "elect") return elect_one(d), true;
  if (base == "setmaxnreg") return set_most_registers(d), true;
  if (base == "griddepcontrol") return depend_on_grid(d), true;
  if (base == "nanosleep") return sleep(d), true;
  return false;
}

}  // namespace flashfit::ptx
