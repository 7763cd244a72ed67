#pragma once
// The contract of kernels/arch/fragments.hpp on CPU fibres.
#include <algorithm>

#include "proof/emu/collective.hpp"
#include "proof/emu/machine.hpp"

namespace flashfit::arch {

template <class T, int M, int N, class Between>
void mma_m16n8k16(float (&d)[M][N][4], const uint32 (&a)[M][4], const uint32 (&b)[4], int n, Between between,
                  Site site = {}) {
  static_assert(M <= emu::MmaOperands::kMostRows && 2 <= emu::MmaOperands::kMostColumns);
  float sums[M][2][4];
  for (int m = 0; m < M; ++m)
    for (int i = 0; i < 2; ++i) std::copy_n(d[m][n + i], 4, sums[m][i]);
  emu::MmaOperands operands{.d = sums[0][0], .a = a[0], .b = b, .rows = M, .columns = 2};
  emu::Machine::current().meet(kIsF16<T> ? emu::kMmaF16 : emu::kMmaBF16, &operands, site);
  for (int m = 0; m < M; ++m)
    for (int i = 0; i < 2; ++i) std::copy_n(sums[m][i], 4, d[m][n + i]);
  for (int m = 0; m < M; ++m) between(m);
}

template <class T>
void cp_async_16_of_line(T* s_base, int s_offset, const T* g_base, int64 g_offset, bool inside, Site site = {}) {
  cp_async_16(s_base, s_offset, g_base, g_offset, inside, site);
}

}  // namespace flashfit::arch
