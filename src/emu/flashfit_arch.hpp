#pragma once
// The contract of arch/arch.hpp on CPU fibres. Each function takes its caller's
// place as a defaulted last argument, for findings.
#include <cmath>
#include <cstring>

#include "base/half.hpp"
#include "base/types.hpp"
#include "emu/launch.hpp"

namespace flashfit::arch {

using emu::Index3;
using emu::Site;

template <class T>
inline constexpr bool kHas = true;

inline Index3 block() { return emu::Machine::current().block(); }
inline Index3 grid() { return emu::Machine::current().grid(); }
inline int lane() { return emu::Machine::current().lane(); }
inline int warp() { return emu::Machine::current().warp(); }
inline int thread() { return warp() * emu::kLanes + lane(); }

template <class Shared>
Shared& shared() {
  return *reinterpret_cast<Shared*>(emu::Machine::current().shared());
}

inline float exp2(float x) { return std::exp2(x); }
inline float log2(float x) { return std::log2(x); }
/// +0 is more than -0, as on GPUs (PTX ISA, "max").
inline float max(float a, float b) { return a > b || b != b || (a == b && !std::signbit(a)) ? a : b; }

inline float shuffle_xor(float x, int mask, Site site = {}) {
  emu::ShuffleXorOperands operands{x, mask, 0};
  emu::Machine::current().meet(emu::kShuffleXor, &operands, site);
  return operands.result;
}

inline uint32 ballot(bool x, Site site = {}) {
  emu::BallotOperands operands{x, 0};
  emu::Machine::current().meet(emu::kBallot, &operands, site);
  return operands.result;
}

template <class T>
uint32 pack(float lo, float hi) {
  return from_float<T>(lo).bits | uint32{from_float<T>(hi).bits} << 16;
}

template <class T>
float widen(T x) {
  return to_float(x);
}

/// Addresses are made of integers: a pointer past its tensor must be reported, not formed.
template <class T>
std::uintptr_t address(const T* base, int64 offset) {
  return reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(offset) * sizeof(T);
}

template <class T>
T load(const T* g_base, int64 offset, Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  machine.count(&emu::Stats::loads);
  machine.check_global(address(g_base, offset), sizeof(T), sizeof(T), emu::Access::kRead, site);
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(address(g_base, offset)), sizeof value);
  return value;
}

template <class T, class V>
void store_if(bool inside, T* g_base, int64 offset, V value, Site site = {}) {
  if (!inside) return;
  emu::Machine& machine = emu::Machine::current();
  machine.count(&emu::Stats::stores);
  machine.check_global(address(g_base, offset), sizeof(V), sizeof(V), emu::Access::kWrite, site);
  std::memcpy(reinterpret_cast<void*>(address(g_base, offset)), &value, sizeof value);
}

template <class T>
void cp_async_16(T* s_base, int s_offset, const T* g_base, int64 g_offset, bool inside, Site site = {}) {
  emu::Machine::current().copy(address(s_base, s_offset), address(g_base, g_offset), inside, site);
}
inline void cp_async_commit() { emu::Machine::current().commit_copies(); }
template <int Pending>
void cp_async_wait() {
  emu::Machine::current().wait_copies(Pending);
}

inline void sync_block(Site site = {}) { emu::Machine::current().sync_block(site); }
template <class T>
void ldmatrix(const emu::Collective& op, uint32 (&r)[4], const T* s_base, int s_offset, Site site) {
  emu::Machine& machine = emu::Machine::current();
  machine.check_shared(address(s_base, s_offset), 16, site);
  machine.access(address(s_base, s_offset), 16, emu::Access::kRead, op.name, site);
  emu::LdmatrixOperands operands{reinterpret_cast<const void*>(address(s_base, s_offset)), r};
  machine.meet(op, &operands, site);
}
template <class T>
void ldmatrix_x4(uint32 (&r)[4], const T* s_base, int s_offset, Site site = {}) {
  ldmatrix(emu::kLdmatrixX4, r, s_base, s_offset, site);
}
template <class T>
void ldmatrix_x4_trans(uint32 (&r)[4], const T* s_base, int s_offset, Site site = {}) {
  ldmatrix(emu::kLdmatrixX4Trans, r, s_base, s_offset, site);
}

template <class T>
void mma(emu::MmaOperands operands, Site site) {
  constexpr bool kHalf = std::is_same_v<T, f16>;
  static_assert(kHalf || std::is_same_v<T, bf16>);
  emu::Machine& machine = emu::Machine::current();
  operands.core = machine.tensor_core();
  machine.meet(kHalf ? emu::kMmaM16N8K16F16 : emu::kMmaM16N8K16BF16, &operands, site);
}
template <class T>
void mma_m16n8k16(float (&d)[4], const uint32 (&a)[4], uint32 b0, uint32 b1, Site site = {}) {
  const uint32 b[2] = {b0, b1};
  mma<T>({.d = d, .a = a, .b = b, .rows = 1, .columns = 1}, site);
}
template <class T, int M, int N>
void mma_m16n8k16(float (&d)[M][N][4], int n, const uint32 (&a)[M][4], const uint32 (&b)[4], Site site = {}) {
  static_assert(M <= emu::MmaOperands::kMostRows);
  mma<T>({.d = d[0][n], .a = a[0], .b = b, .rows = M, .columns = 2, .d_stride = N * 4}, site);
}

}  // namespace flashfit::arch

#include "emu/arch_bulk.hpp"
#include "emu/arch_matrix.hpp"
#include "emu/arch_sync.hpp"
#include "emu/arch_tma.hpp"
