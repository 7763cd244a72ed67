#pragma once
// stmatrix and wgmma of the contract of kernels/arch/arch.hpp. Part of proof/emu/flashfit_arch.hpp.
#include <type_traits>

#include "proof/emu/machine.hpp"
#include "proof/emu/matrix_ops.hpp"

namespace flashfit::arch {

inline uint32 shared_address(const void* s) {
  const auto offset =
      reinterpret_cast<std::uintptr_t>(s) - reinterpret_cast<std::uintptr_t>(emu::Machine::current().shared());
  return static_cast<uint32>(offset) + emu::SharedWindow::kBase;
}

template <class T>
void stmatrix(const emu::Collective& op, T* s_base, int s_offset, const uint32 (&r)[4], Site site) {
  emu::Machine& machine = emu::Machine::current();
  machine.watch();
  const std::uintptr_t row = address(s_base, s_offset);
  machine.check_shared(row, 16, site);
  machine.access(row, 16, emu::Access::kWrite, op.name, site);
  emu::StmatrixOperands operands{reinterpret_cast<void*>(row), r};
  machine.meet(op, &operands, site);
}
template <class T>
void stmatrix_x4(T* s_base, int s_offset, const uint32 (&r)[4], Site site = {}) {
  stmatrix(emu::kStmatrixX4, s_base, s_offset, r, site);
}
template <class T>
void stmatrix_x4_trans(T* s_base, int s_offset, const uint32 (&r)[4], Site site = {}) {
  stmatrix(emu::kStmatrixX4Trans, s_base, s_offset, r, site);
}

struct NoRegisters {};
inline NoRegisters no_registers;

/// Arrays of scalars in an argument of a fence or wait.
template <class Registers>
constexpr std::size_t arrays_of() {
  if constexpr (std::is_same_v<Registers, NoRegisters>)
    return 0;
  else if constexpr (std::rank_v<Registers> > 1)
    return std::extent_v<Registers> * arrays_of<std::remove_extent_t<Registers>>();
  else
    return 1;
}

inline void list(NoRegisters&, emu::RegisterArray*&) {}
template <class T, std::size_t N>
void list(T (&registers)[N], emu::RegisterArray*& to) {
  if constexpr (std::is_array_v<T>)
    for (T& row : registers) list(row, to);
  else
    *to++ = {registers, sizeof registers};
}

template <class A, class B, class C, class D>
void meet_with_registers(const emu::Collective& op, int pending, A& a, B& b, C& c, D& d, Site site) {
  // One more, as there may be none.
  emu::RegisterArray arrays[1 + arrays_of<A>() + arrays_of<B>() + arrays_of<C>() + arrays_of<D>()];
  emu::RegisterArray* end = arrays;
  list(a, end);
  list(b, end);
  list(c, end);
  list(d, end);
  emu::WgmmaRegistersCall call{{arrays, static_cast<std::size_t>(end - arrays)}, pending, site};
  emu::Machine::current().meet(op, &call, site);
}

template <class A = NoRegisters, class B = NoRegisters, class C = NoRegisters, class D = NoRegisters>
void wgmma_fence(A& a = no_registers, B& b = no_registers, C& c = no_registers, D& d = no_registers, Site site = {}) {
  meet_with_registers(emu::kWgmmaFence, 0, a, b, c, d, site);
}
template <int Pending, class A = NoRegisters, class B = NoRegisters, class C = NoRegisters, class D = NoRegisters>
void wgmma_wait(A& a = no_registers, B& b = no_registers, C& c = no_registers, D& d = no_registers, Site site = {}) {
  emu::await_warpgroup(Pending, site);
  meet_with_registers(emu::kWgmmaWait, Pending, a, b, c, d, site);
}
inline void wgmma_commit(Site site = {}) { emu::Machine::current().meet(emu::kWgmmaCommit, &site, site); }

template <class T>
inline constexpr DType kWgmmaType = std::is_same_v<T, f16> ? DType::kF16 : DType::kBF16;

template <class T, Major B = Major::kK, Major A = Major::kK, int Half>
void wgmma_m64k16(float (&d)[Half], uint64 a, uint64 b, bool scale_d, Site site = {}) {
  static_assert(Half % 4 == 0 && Half <= 128, "n is a multiple of 8 up to 256");
  emu::WgmmaCall call{{{kWgmmaType<T>, 2 * Half, A, B, false}, d, nullptr, a, b, scale_d}, site};
  emu::Machine::current().meet(emu::kWgmma, &call, site);
}
template <class T, Major B = Major::kK, int Half>
void wgmma_m64k16(float (&d)[Half], const uint32 (&a)[4], uint64 b, bool scale_d, Site site = {}) {
  static_assert(Half % 4 == 0 && Half <= 128, "n is a multiple of 8 up to 256");
  emu::WgmmaCall call{{{kWgmmaType<T>, 2 * Half, Major::kK, B, true}, d, a, 0, b, scale_d}, site};
  emu::Machine::current().meet(emu::kWgmma, &call, site);
}

}  // namespace flashfit::arch
