#pragma once
// Synchronisation of the contract of kernels/arch/arch.hpp. Part of proof/emu/flashfit_arch.hpp.
#include "core/base/mbarrier.hpp"
#include "proof/emu/engines.hpp"
#include "proof/emu/machine.hpp"

namespace flashfit::arch {

inline void sync_warp(uint32 mask = ~uint32{0}, Site site = {}) { emu::Machine::current().sync_warp(mask, site); }
inline bool elect_one(Site site = {}) { return emu::Machine::current().elect(site); }
inline void named_barrier_sync(int id, int threads, Site site = {}) {
  emu::Machine::current().named_barrier(id, threads, true, site);
}
inline void named_barrier_arrive(int id, int threads, Site site = {}) {
  emu::Machine::current().named_barrier(id, threads, false, site);
}

inline void fence_proxy_async() {
  emu::Machine& machine = emu::Machine::current();
  machine.watch();
  machine.order()->fence_proxy_async(machine.thread());
}
inline void fence_proxy_async_global() {
  emu::Machine& machine = emu::Machine::current();
  machine.watch();
  machine.order()->fence_proxy_async_global(machine.thread());
}
inline void fence_mbarrier_init() {
  emu::Machine& machine = emu::Machine::current();
  machine.watch();
  machine.engines().mbarriers.fence_init(machine);
}

inline void mbarrier_init(MBarrier& s_barrier, int arrivals, Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  machine.watch();
  machine.engines().mbarriers.init(machine, address(&s_barrier, 0), arrivals, site);
}
inline void mbarrier_inval(MBarrier& s_barrier, Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  machine.engines().mbarriers.inval(machine, address(&s_barrier, 0), site);
}
inline void mbarrier_arrive(MBarrier& s_barrier, int count = 1, Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  machine.engines().mbarriers.arrive(machine, address(&s_barrier, 0), count, site);
}
inline void mbarrier_arrive_remote(MBarrier& s_barrier, int block, int count = 1, Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  const std::uintptr_t there = machine.in_block(address(&s_barrier, 0), block, "mbarrier_arrive_remote", site);
  machine.engines().mbarriers.arrive(machine, there, count, site);
}
inline void mbarrier_expect_tx(MBarrier& s_barrier, int bytes, Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  machine.engines().mbarriers.expect_bytes(machine, address(&s_barrier, 0), bytes, site);
}
inline void mbarrier_arrive_expect_tx(MBarrier& s_barrier, int bytes, Site site = {}) {
  mbarrier_expect_tx(s_barrier, bytes, site);
  mbarrier_arrive(s_barrier, 1, site);
}
inline void cp_async_mbarrier_arrive(MBarrier& s_barrier, Site site = {}) {
  emu::Machine::current().arrive_with_copies(address(&s_barrier, 0), false, "cp_async_mbarrier_arrive", site);
}
inline void cp_async_mbarrier_arrive_noinc(MBarrier& s_barrier, Site site = {}) {
  emu::Machine::current().arrive_with_copies(address(&s_barrier, 0), true, "cp_async_mbarrier_arrive_noinc", site);
}
inline bool mbarrier_test(MBarrier& s_barrier, int parity, Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  return machine.engines().mbarriers.test(machine, address(&s_barrier, 0), parity, site);
}
inline void mbarrier_wait(MBarrier& s_barrier, int parity, Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  machine.engines().mbarriers.wait(machine, address(&s_barrier, 0), parity, false, site);
}
inline void mbarrier_wait_cluster(MBarrier& s_barrier, int parity, Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  machine.engines().mbarriers.wait(machine, address(&s_barrier, 0), parity, true, site);
}

inline int block_in_cluster() { return emu::Machine::current().block_in_cluster(); }
inline void cluster_arrive(Site site = {}) { emu::Machine::current().cluster_arrive(site); }
inline void cluster_wait(Site site = {}) { emu::Machine::current().cluster_wait(site); }

template <int Registers>
void set_max_registers_dec(Site site = {}) {
  emu::Machine::current().set_registers(Registers, false, site);
}
template <int Registers>
void set_max_registers_inc(Site site = {}) {
  emu::Machine::current().set_registers(Registers, true, site);
}

inline void grid_dependency_wait(Site site = {}) { emu::Machine::current().grid_dependency_wait(site); }
inline void launch_dependents() { emu::Machine::current().launch_dependents(); }

}  // namespace flashfit::arch
