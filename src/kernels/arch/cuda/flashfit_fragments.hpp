#pragma once
// The contract of kernels/arch/fragments.hpp on the GPU.

namespace flashfit::arch {

template <class T, int N, class Between>
void mma_m16n8k16(float (&d)[N][4], const uint32 (&a)[4], const uint32 (&b)[N / 2][4], bool back, Between between) {
#pragma unroll
  for (int i = 0; i < N / 2; ++i) {
    const int n = back ? N / 2 - 1 - i : i, first = back ? 1 : 0, second = 1 - first;
    between(i);
    mma_m16n8k16<T>(d[2 * n + first], a, b[n][2 * first], b[n][2 * first + 1]);
    mma_m16n8k16<T>(d[2 * n + second], a, b[n][2 * second], b[n][2 * second + 1]);
  }
}

template <class T>
SharedPlace<T> in_one_address(T* s_base, int s_offset) {
  uint32 address = shared_address(s_base, s_offset);
  asm volatile("" : "+r"(address));
  return {static_cast<T*>(__cvta_shared_to_generic(address)), 0};
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
