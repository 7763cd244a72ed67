#pragma once
// Part of the instruction contract (kernels/arch/arch.hpp), for kernels that load fragments before they multiply them.
//   void mma_m16n8k16<T, M, N>(float (&d)[M][N][4], const uint32 (&a)[M][4], const uint32 (&b)[4], int n,
//                              Between between);
//       2 M of them: for each m, d[m][n] += a[m] by b[0], b[1] and d[m][n + 1] += a[m] by b[2], b[3]; then between(m),
//       the place of instructions that need none of d and may run while the products do, also such that overwrite a[m]
//   void cp_async_16_of_line<T>(T* s_base, int s_offset, const T* g_base, int64 g_offset, bool inside);
//       cp_async_16 where the line of 128 bytes that holds the 16 is about to be read: L2 may fetch all of it
#include "kernels/arch/arch.hpp"
// After the contract that it is part of.
#include <flashfit_fragments.hpp>
