#pragma once
// The contract of kernels/arch/arch.hpp on CPU fibres. Each function takes its caller's
// place as a defaulted last argument, for findings.
#include <bit>
#include <cmath>
#include <cstring>

#include "core/base/half.hpp"
#include "core/base/types.hpp"
#include "kernels/arch/shared_place.hpp"
#include "proof/emu/launch.hpp"

namespace flashfit::arch {

using emu::Index3;
using emu::Site;

template <class T>
inline constexpr bool kHas = true;

inline Index3 block() { return emu::Machine::current().block(); }
inline Index3 grid() { return emu::Machine::current().grid(); }
inline int lane() { return emu::Machine::current().lane(); }
inline int warp(Site site = {}) {
  emu::WarpOperands operands{};
  emu::Machine::current().meet(emu::kWarp, &operands, site);
  return emu::Machine::current().warp();
}
inline int thread() { return emu::Machine::current().warp() * emu::kLanes + lane(); }

template <class Shared>
Shared& shared() {
  return *reinterpret_cast<Shared*>(emu::Machine::current().shared());
}

/// Results below 2^-126 are 0, as on GPUs.
inline float exp2(float x) { return x < -126.f ? 0.f : std::exp2(x); }
inline float log2(float x) { return std::log2(x); }
inline float reciprocal(float x) { return 1.f / x; }
inline float multiply_add(float a, float b, float c) { return std::fma(a, b, c); }
/// +0 is more than -0, as on GPUs (PTX ISA, "max").
inline float max(float a, float b) {
  const float larger = a > b ? a : b;  // one instruction without branches: right unless it is a zero or NaN
  if (std::fabs(larger) > 0) return larger;
  if (a != a || b != b) return a != a ? b : a;
  return a != b ? larger : std::signbit(a) ? b : a;
}
inline float max_or_nan(float a, float b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<float>::quiet_NaN() : max(a, b);
}

inline int count_bits(uint32 x) { return std::popcount(x); }

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

template <class V, class T>
V load(const T* g_base, int64 offset, Site site = {}) {
  emu::Machine& machine = emu::Machine::current();
  machine.count(&emu::Stats::loads);
  machine.own_global_access(address(g_base, offset), sizeof(V), emu::Access::kRead, "load", site);
  V value;
  std::memcpy(&value, reinterpret_cast<const void*>(address(g_base, offset)), sizeof value);
  return value;
}
template <class T>
T load(const T* g_base, int64 offset, Site site = {}) {
  return load<T, T>(g_base, offset, site);
}

template <class T, class V>
void store_if(bool inside, T* g_base, int64 offset, V value, Site site = {}) {
  if (!inside) return;
  emu::Machine& machine = emu::Machine::current();
  machine.count(&emu::Stats::stores);
  machine.own_global_access(address(g_base, offset), sizeof(V), emu::Access::kWrite, "store_if", site);
  std::memcpy(reinterpret_cast<void*>(address(g_base, offset)), &value, sizeof value);
}

template <class T>
SharedPlace<T> in_one_register(T* s_base, int s_offset) {
  return {s_base, s_offset};
}

inline constexpr bool kCopiesAreAsync = true;
template <class T>
void cp_async_16(T* s_base, int s_offset, const T* g_base, int64 g_offset, bool inside, Site site = {}) {
  constexpr std::size_t kBytes = emu::Copy::kBytes;
  emu::Machine::current().copy(address(s_base, s_offset), address(g_base, g_offset), kBytes, inside ? kBytes : 0, site);
}
inline void cp_async_commit() { emu::Machine::current().commit_copies(); }
template <int Pending>
void cp_async_wait() {
  emu::Machine::current().wait_copies(Pending);
}

inline void sync_block(Site site = {}) { emu::Machine::current().sync_block(site); }
inline bool sync_block_or(bool x, Site site = {}) { return emu::Machine::current().sync_block(site, x); }

/// `Count` instructions: r[i] from the row at s_offset(i).
template <int Count, class T, class At>
void ldmatrix(const emu::Collective& op, uint32* r, const T* s_base, At s_offset, Site site) {
  std::uintptr_t rows[Count];
  for (int i = 0; i < Count; ++i) rows[i] = address(s_base, s_offset(i));
  emu::Machine& machine = emu::Machine::current();
  machine.read_rows(rows, op.name, site);
  emu::LdmatrixOperands operands{rows, r, Count};
  machine.meet(op, &operands, site);
}
template <class T>
void ldmatrix_x4(uint32 (&r)[4], const T* s_base, int s_offset, Site site = {}) {
  ldmatrix<1>(emu::kLdmatrixX4, r, s_base, [s_offset](int) { return s_offset; }, site);
}
template <class T>
void ldmatrix_x4_trans(uint32 (&r)[4], const T* s_base, int s_offset, Site site = {}) {
  ldmatrix<1>(emu::kLdmatrixX4Trans, r, s_base, [s_offset](int) { return s_offset; }, site);
}
template <class T, int M, class At>
void ldmatrix_x4(uint32 (&r)[M][4], const T* s_base, At s_offset, Site site = {}) {
  ldmatrix<M>(emu::kLdmatrixX4, r[0], s_base, s_offset, site);
}

template <class T>
inline constexpr bool kIsF16 = std::is_same_v<T, f16>;

template <class T>
void mma_m16n8k16(float (&d)[4], const uint32 (&a)[4], uint32 b0, uint32 b1, Site site = {}) {
  static_assert(kIsF16<T> || std::is_same_v<T, bf16>);
  const uint32 b[2] = {b0, b1};
  emu::MmaOperands operands{.d = d, .a = a, .b = b};
  emu::Machine::current().meet(kIsF16<T> ? emu::kMmaF16 : emu::kMmaBF16, &operands, site);
}
template <class T, int M, int N, class At>
void mma_with_shared(const emu::SharedMma& op, float (&d)[M][N][4], const uint32 (&a)[M][4], const T* s_base,
                     At s_offset, Site site) {
  static_assert(kIsF16<T> || std::is_same_v<T, bf16>);
  static_assert(M <= emu::MmaOperands::kMostRows && N % 2 == 0 && N <= emu::MmaOperands::kMostColumns);
  std::uintptr_t b_rows[N / 2];
  for (int n = 0; n < N; n += 2) b_rows[n / 2] = address(s_base, s_offset(n));
  emu::Machine& machine = emu::Machine::current();
  machine.read_rows(b_rows, op.loads, site);
  emu::MmaOperands operands{.d = d[0][0], .a = a[0], .b_rows = b_rows, .rows = M, .columns = N};
  machine.meet(kIsF16<T> ? op.f16 : op.bf16, &operands, site);
}
template <class T, int M, int N, class At, class Between>
void mma_m16n8k16(float (&d)[M][N][4], const uint32 (&a)[M][4], const T* s_base, At s_offset, Between between,
                  Site site = {}) {
  mma_with_shared(emu::kSharedMma, d, a, s_base, s_offset, site);
  for (int n = 0; n < N; n += 2) between(n);
}
template <class T, int M, int N, class At, class Between>
void mma_m16n8k16_trans(float (&d)[M][N][4], const uint32 (&a)[M][4], const T* s_base, At s_offset, Between between,
                        Site site = {}) {
  mma_with_shared(emu::kSharedMmaTrans, d, a, s_base, s_offset, site);
  for (int n = 0; n < N; n += 2) between(n);
}

}  // namespace flashfit::arch

#include "proof/emu/arch_atomics.hpp"
#include "proof/emu/arch_bulk.hpp"
#include "proof/emu/arch_cached.hpp"
#include "proof/emu/arch_matrix.hpp"
#include "proof/emu/arch_sync.hpp"
#include "proof/emu/arch_tma.hpp"
#include "proof/emu/arch_warp.hpp"
