#pragma once
// The contract of kernels/arch/fragments.hpp on the GPU.

namespace flashfit::arch {

template <class T, int M, int N, int Pairs>
void mma_m16n8k16(float (&d)[M][N][4], const uint32 (&a)[M][4], const uint32 (&b)[Pairs][4]) {
  static_assert(2 * Pairs == N);
#pragma unroll
  for (int n = 0; n < N; n += 2)
#pragma unroll
    for (int m = 0; m < M; ++m) {
      mma_m16n8k16<T>(d[m][n], a[m], b[n / 2][0], b[n / 2][1]);
      mma_m16n8k16<T>(d[m][n + 1], a[m], b[n / 2][2], b[n / 2][3]);
    }
}

}  // namespace flashfit::arch
