#pragma once
// Part of the instruction contract (kernels/arch/arch.hpp), for kernels that load fragments before they multiply them.
//   void mma_m16n8k16<T, N>(float (&d)[N][4], const uint32 (&a)[4], const uint32 (&b)[N / 2][4], bool back,
//                           Between between);
//       N products, two at a time: d[2 i] += a by b[i]'s first half and d[2 i + 1] += a by its second; the last ones
//       first if `back`, so that two calls in a row may share a b. Before the i-th two, counted as they run,
//       between(i): the place of instructions that need none of d, a and b and may run while the products do.
//   SharedPlace<T> in_one_address<T>(T* s_base, int s_offset);
//       in_one_register of the place's address: sums with what is the same in all lanes cost no instruction either.
//       Never change bits of the offset that it gives, as SwizzledTile::right() does: only add to it
//   void cp_async_16_of_line<T>(T* s_base, int s_offset, const T* g_base, int64 g_offset, bool inside);
//       cp_async_16 where the line of 128 bytes that holds the 16 is about to be read: L2 may fetch all of it
#include "kernels/arch/arch.hpp"
// After the contract that it is part of.
#include <flashfit_fragments.hpp>
