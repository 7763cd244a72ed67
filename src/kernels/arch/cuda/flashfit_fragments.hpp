#pragma once
// The contract of kernels/arch/fragments.hpp on the GPU.

namespace flashfit::arch {

template <class T, int M, int N, class Between>
void mma_m16n8k16(float (&d)[M][N][4], const uint32 (&a)[M][4], const uint32 (&b)[4], int n, Between between) {
#pragma unroll
  for (int m = 0; m < M; ++m) {
    mma_m16n8k16<T>(d[m][n], a[m], b[0], b[1]);
    mma_m16n8k16<T>(d[m][n + 1], a[m], b[2], b[3]);
    between(m);
  }
}

template <class T>
void cp_async_16_of_line(T* s_base, int s_offset, const T* g_base, int64 g_offset, bool inside) {
  if constexpr (kTarget >= 80)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared_address(s_base, s_offset)),
                 "l"(g_base + g_offset), "r"(inside ? 16 : 0)
                 : "memory");
  else
    cp_async_16(s_base, s_offset, g_base, g_offset, inside);
}

}  // namespace flashfit::arch
