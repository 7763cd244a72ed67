#pragma once
// The contract of kernels/arch/fragments.hpp on CPU fibres.
#include "proof/emu/collective.hpp"
#include "proof/emu/machine.hpp"

namespace flashfit::arch {

template <class T, int M, int N, int Pairs>
void mma_m16n8k16(float (&d)[M][N][4], const uint32 (&a)[M][4], const uint32 (&b)[Pairs][4], Site site = {}) {
  static_assert(2 * Pairs == N && M <= emu::MmaOperands::kMostRows && N <= emu::MmaOperands::kMostColumns);
  emu::MmaOperands operands{.d = d[0][0], .a = a[0], .b = b[0], .rows = M, .columns = N};
  emu::Machine::current().meet(kIsF16<T> ? emu::kMmaF16 : emu::kMmaBF16, &operands, site);
}

}  // namespace flashfit::arch
