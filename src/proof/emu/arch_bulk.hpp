#pragma once
// Shared memory and bulk copies of the contract of kernels/arch/arch.hpp. Part of proof/emu/flashfit_arch.hpp.
#include <cstring>

#include "core/base/mbarrier.hpp"
#include "proof/emu/atomic_add.hpp"
#include "proof/emu/engines.hpp"
#include "proof/emu/machine.hpp"

namespace flashfit::arch {

template <class V, class T>
V load_shared(const T* s_base, int s_offset, Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  const std::uintptr_t from = address(s_base, s_offset);
  machine.own_access(from, sizeof(V), emu::Access::kRead, "load_shared", site);
  V value;
  std::memcpy(&value, reinterpret_cast<const void*>(from), sizeof value);
  return value;
}
template <class T>
T load_shared(const T* s_base, int s_offset, Site site = {}) {
  return load_shared<T, T>(s_base, s_offset, site);
}
template <class T, class V>
void store_shared(T* s_base, int s_offset, V value, Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  const std::uintptr_t to = address(s_base, s_offset);
  machine.own_access(to, sizeof(V), emu::Access::kWrite, "store_shared", site);
  std::memcpy(reinterpret_cast<void*>(to), &value, sizeof value);
}

template <class T>
T load_remote(const T* s_base, int s_offset, int block, Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  machine.watch();
  machine.check_shared(address(s_base, s_offset), sizeof(T), site);
  const std::uintptr_t from = machine.in_block(address(s_base, s_offset), block, "load_remote", site);
  machine.access(from, sizeof(T), emu::Access::kRead, "load_remote", site);
  machine.check_written(from, sizeof(T), "load_remote", site);
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(from), sizeof value);
  return value;
}
template <class T, class V>
void store_remote(T* s_base, int s_offset, V value, int block, Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  machine.watch();
  machine.check_shared(address(s_base, s_offset), sizeof(V), site);
  const std::uintptr_t to = machine.in_block(address(s_base, s_offset), block, "store_remote", site);
  machine.access(to, sizeof(V), emu::Access::kWrite, "store_remote", site);
  std::memcpy(reinterpret_cast<void*>(to), &value, sizeof value);
}

template <class T>
void copy_bulk_to_blocks(T* s_base, int s_offset, const T* g_base, int64 g_offset, int bytes, MBarrier& s_barrier,
                         uint32 blocks, Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  const auto size = static_cast<std::size_t>(bytes);
  const std::uintptr_t from = address(g_base, g_offset);
  machine.check_global(from, size, 16, emu::Access::kRead, site);
  emu::BulkCopies::load(machine,
                        {"copy_bulk", address(s_base, s_offset), size, address(&s_barrier, 0), blocks,
                         [from, size](std::byte* to) { std::memcpy(to, reinterpret_cast<const void*>(from), size); },
                         machine.watched(from, size)},
                        site);
}
template <class T>
void copy_bulk_to_shared(T* s_base, int s_offset, const T* g_base, int64 g_offset, int bytes, MBarrier& s_barrier,
                         Site site = {}) {
  copy_bulk_to_blocks(s_base, s_offset, g_base, g_offset, bytes, s_barrier, 0, site);
}
template <class T>
void copy_bulk_to_block(T* s_to, int to_offset, const T* s_from, int from_offset, int bytes, MBarrier& s_barrier,
                        int block, Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  emu::BulkCopies::send(machine, address(s_to, to_offset), address(s_from, from_offset),
                        static_cast<std::size_t>(bytes), address(&s_barrier, 0), block, site);
}
template <class T>
void copy_bulk_to_global(T* g_base, int64 g_offset, const T* s_base, int s_offset, int bytes, Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  const auto size = static_cast<std::size_t>(bytes);
  const std::uintptr_t to = address(g_base, g_offset);
  machine.check_global(to, size, 16, emu::Access::kWrite, site);
  emu::SharedMemory::poison(reinterpret_cast<std::byte*>(to), size);
  machine.engines().bulk.store(
      machine,
      {"copy_bulk_to_global", address(s_base, s_offset), size,
       [to, size](const std::byte* image) { std::memcpy(reinterpret_cast<void*>(to), image, size); },
       machine.watched(to, size)},
      site);
}
inline void reduce_add_bulk(float* g_base, int64 g_offset, const float* s_base, int s_offset, int bytes,
                            Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  const auto size = static_cast<std::size_t>(bytes);
  const std::uintptr_t to = address(g_base, g_offset);
  machine.check_global(to, size, 16, emu::Access::kWrite, site);
  machine.engines().bulk.store(
      machine,
      {"reduce_add_bulk", address(s_base, s_offset), size,
       [to, size](const std::byte* image) { emu::atomic_add<float>(reinterpret_cast<std::byte*>(to), image, size); },
       machine.watched(to, size), emu::GlobalAccess::kAdd},
      site);
}
inline void bulk_commit() {
  emu::Machine& machine = emu::Machine::current();
  machine.engines().bulk.commit(machine);
}
template <int Pending>
void bulk_wait(Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  machine.engines().bulk.wait(machine, Pending, false, site);
}
template <int Pending>
void bulk_wait_read(Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  machine.engines().bulk.wait(machine, Pending, true, site);
}

}  // namespace flashfit::arch
