#pragma once
// The contract of kernels/arch/fragments.hpp on CPU fibres.
#include "proof/emu/collective.hpp"
#include "proof/emu/machine.hpp"

namespace flashfit::arch {

template <class T, int N, class Between>
void mma_m16n8k16(float (&d)[N][4], const uint32 (&a)[4], const uint32 (&b)[N / 2][4], bool /*back*/, Between between,
                  Site site = {}) {
  static_assert(N <= emu::MmaOperands::kMostColumns);
  for (int i = 0; i < N / 2; ++i) between(i);
  emu::MmaOperands operands{.d = d[0], .a = a, .b = b[0], .rows = 1, .columns = N};
  emu::Machine::current().meet(kIsF16<T> ? emu::kMmaF16 : emu::kMmaBF16, &operands, site);
}

template <class T>
SharedPlace<T> in_one_address(T* s_base, int s_offset) {
  return {s_base + s_offset, 0};  // as on a GPU: its bits say nothing of the place
}

template <class T>
void cp_async_16_of_line(T* s_base, int s_offset, const T* g_base, int64 g_offset, bool inside, Site site = {}) {
  cp_async_16(s_base, s_offset, g_base, g_offset, inside, site);
}

}  // namespace flashfit::arch
