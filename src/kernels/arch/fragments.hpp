#pragma once
// Part of the instruction contract (kernels/arch/arch.hpp), for kernels that load fragments before they multiply them.
//   void mma_m16n8k16<T, M, N>(float (&d)[M][N][4], const uint32 (&a)[M][4], const uint32 (&b)[N / 2][4]);
//       M N of them: for each second n and each m, d[m][n] += a[m] by b[n / 2][0], [1] and d[m][n + 1] += a[m] by
//       b[n / 2][2], [3]
#include "kernels/arch/arch.hpp"
// After the contract that it is part of.
#include <flashfit_fragments.hpp>
