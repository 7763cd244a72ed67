#pragma once
// The contract of kernels/arch/arch.hpp on the GPU: the only PTX in the project. An instruction newer than the target
// is replaced under `if constexpr`.
#include "core/base/types.hpp"
#include "core/gpu/limits.hpp"
#include "kernels/arch/shared_place.hpp"

namespace flashfit::arch {

/// The compute capability compiled for: 89 is 8.9.
inline constexpr int kTarget = __CUDA_ARCH__ / 10;

template <class T>
inline constexpr bool kHas = true;
template <>
inline constexpr bool kHas<bf16> = kTarget >= 80;

struct Index3 {
  int x, y, z;
};

inline Index3 block() { return {int(blockIdx.x), int(blockIdx.y), int(blockIdx.z)}; }
inline Index3 grid() { return {int(gridDim.x), int(gridDim.y), int(gridDim.z)}; }
inline int thread() { return threadIdx.x; }
inline int lane() { return threadIdx.x % 32; }
/// A shuffle tells the compiler that the value is uniform.
inline int warp() { return __shfl_sync(~0u, threadIdx.x / 32, 0); }

extern __shared__ __align__(1024) unsigned char dynamic_shared[];
template <class Shared>
Shared& shared() {
  return *reinterpret_cast<Shared*>(dynamic_shared);
}

inline float exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
inline float log2(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
inline float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
inline float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline float max_or_nan(float a, float b) {
  if constexpr (kTarget >= 80) {
    float larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
  } else {
    return a != a || b != b ? __int_as_float(0x7fffffff) : fmaxf(a, b);
  }
}
inline int count_bits(uint32 x) { return __popc(x); }

template <class T>
float widen(T x);
template <>
inline float widen<f16>(f16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
template <>
inline float widen<bf16>(bf16 x) {
  return __uint_as_float(uint32(x.bits) << 16);
}

template <class T>
uint32 pack(float lo, float hi);
template <>
inline uint32 pack<f16>(float lo, float hi) {
  if constexpr (kTarget >= 80) {
    uint32 r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
    return r;
  } else {
    unsigned short l, h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(l) : "f"(lo));
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(hi));
    return l | uint32(h) << 16;
  }
}
template <>
inline uint32 pack<bf16>(float lo, float hi) {
  uint32 r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}

inline uint32 shared_address(const void* s) { return static_cast<uint32>(__cvta_generic_to_shared(s)); }
/// In 32 bits throughout, so that constants in an offset become part of the instruction that takes the address.
template <class T>
uint32 shared_address(const T* s_base, int s_offset) {
  return shared_address(s_base) + static_cast<uint32>(s_offset) * uint32{sizeof(T)};
}

template <class T>
T load(const T* g_base, int64 offset) {
  return g_base[offset];
}
/// 16 bytes are one ld.global.v4.
template <class V, class T>
V load(const T* g_base, int64 offset) {
  return *reinterpret_cast<const V*>(g_base + offset);
}

template <class T, class V>
void store_if(bool inside, T* g_base, int64 offset, V value) {
  if (inside) *reinterpret_cast<V*>(g_base + offset) = value;
}

inline constexpr bool kCopiesAreAsync = kTarget >= 80;
/// Before 8.0 the copy goes through registers and lands at once, which the contract allows.
template <class T>
void cp_async_16(T* s_base, int s_offset, const T* g_base, int64 g_offset, bool inside) {
  if constexpr (kTarget >= 80) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(s_base, s_offset)),
                 "l"(g_base + g_offset), "r"(inside ? 16 : 0)
                 : "memory");
  } else {
    uint4 value = {0, 0, 0, 0};
    if (inside) value = *reinterpret_cast<const uint4*>(g_base + g_offset);
    *reinterpret_cast<uint4*>(s_base + s_offset) = value;
  }
}
/// Opaque to the compiler, which else keeps every sum with it in a register of its own, all through a loop.
template <class T>
SharedPlace<T> in_one_register(T* s_base, int s_offset) {
  T* const s_begin = reinterpret_cast<T*>(dynamic_shared);
  int offset = static_cast<int>((shared_address(s_base) - shared_address(s_begin)) / sizeof(T)) + s_offset;
  asm volatile("" : "+r"(offset));
  return {s_begin, offset};
}
inline void cp_async_commit() {
  if constexpr (kTarget >= 80) asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int Pending>
void cp_async_wait() {
  if constexpr (kTarget >= 80) asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}
inline void sync_block() { __syncthreads(); }
inline bool sync_block_or(bool x) { return __syncthreads_or(x) != 0; }

template <class T>
void ldmatrix_x4(uint32 (&r)[4], const T* s_base, int s_offset) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(s_base, s_offset))
               : "memory");
}
template <class T>
void ldmatrix_x4_trans(uint32 (&r)[4], const T* s_base, int s_offset) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(s_base, s_offset))
               : "memory");
}

template <class T>
void stmatrix_x4(T* s_base, int s_offset, const uint32 (&r)[4]) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(s_base, s_offset)),
      "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
      : "memory");
}
template <class T>
void stmatrix_x4_trans(T* s_base, int s_offset, const uint32 (&r)[4]) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(s_base, s_offset)),
      "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
      : "memory");
}

template <class T>
void mma_m16n8k16(float (&d)[4], const uint32 (&a)[4], uint32 b0, uint32 b1);
/// Pure, so neither volatile nor a memory clobber. Turing has the k8 form alone:
/// a's registers are k-major, so two halves make it.
template <>
inline void mma_m16n8k16<f16>(float (&d)[4], const uint32 (&a)[4], uint32 b0, uint32 b1) {
  if constexpr (kTarget >= 80) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(b0));
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[2]), "r"(a[3]), "r"(b1));
  }
}
template <>
inline void mma_m16n8k16<bf16>(float (&d)[4], const uint32 (&a)[4], uint32 b0, uint32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <class T, int M, class At>
void ldmatrix_x4(uint32 (&r)[M][4], const T* s_base, At s_offset) {
#pragma unroll
  for (int m = 0; m < M; ++m) ldmatrix_x4(r[m], s_base, s_offset(m));
}

template <class T, bool Trans, int M, int N, class At, class Between>
void mma_with_shared(float (&d)[M][N][4], const uint32 (&a)[M][4], const T* s_base, At s_offset, Between between) {
#pragma unroll
  for (int n = 0; n < N; n += 2) {
    uint32 b[4];
    if constexpr (Trans)
      ldmatrix_x4_trans(b, s_base, s_offset(n));
    else
      ldmatrix_x4(b, s_base, s_offset(n));
#pragma unroll
    for (int m = 0; m < M; ++m) {
      mma_m16n8k16<T>(d[m][n], a[m], b[0], b[1]);
      mma_m16n8k16<T>(d[m][n + 1], a[m], b[2], b[3]);
    }
    between(n);
  }
}
template <class T, int M, int N, class At, class Between>
void mma_m16n8k16(float (&d)[M][N][4], const uint32 (&a)[M][4], const T* s_base, At s_offset, Between between) {
  mma_with_shared<T, false>(d, a, s_base, s_offset, between);
}
template <class T, int M, int N, class At, class Between>
void mma_m16n8k16_trans(float (&d)[M][N][4], const uint32 (&a)[M][4], const T* s_base, At s_offset, Between between) {
  mma_with_shared<T, true>(d, a, s_base, s_offset, between);
}

/// The message of a misfit: the compiler prints both numbers.
template <int Used, int Limit>
struct SharedMemoryFits {
  static_assert(Used <= Limit, "this kernel's shared memory is larger than what a block of the target GPU may have");
  static constexpr bool kFits = Used <= Limit;
};

/// The one entry point of every image.
template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, Kernel::kMinBlocks)
    entry(const __grid_constant__ typename Kernel::Params p) {
  static_assert(SharedMemoryFits<sizeof(typename Kernel::Shared), max_shared_bytes(kTarget)>::kFits);
  Kernel::run(p);
}

}  // namespace flashfit::arch

#include "kernels/arch/cuda/atomics.hpp"
#include "kernels/arch/cuda/bulk.hpp"
#include "kernels/arch/cuda/cached.hpp"
#include "kernels/arch/cuda/sync.hpp"
#include "kernels/arch/cuda/tma.hpp"
#include "kernels/arch/cuda/warp.hpp"
#include "kernels/arch/cuda/wgmma.hpp"
