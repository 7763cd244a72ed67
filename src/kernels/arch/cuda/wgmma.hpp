#pragma once
// wgmma of the arch contract: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions". For 9.0a.
#include "core/base/types.hpp"
#include "kernels/arch/cuda/wgmma_sizes.hpp"
#include "kernels/layout/matrix_descriptor.hpp"

namespace flashfit::arch {

/// Names in the instruction. Members of partial specialisations stay out of images that do not use them.
template <class T, class = void>
struct WgmmaType;
template <class Unused>
struct WgmmaType<f16, Unused> {
  static constexpr char kName[] = "f16";
};
template <class Unused>
struct WgmmaType<bf16, Unused> {
  static constexpr char kName[] = "bf16";
};

/// Values move freely across asm that does not name them, "memory" or not: naming them here keeps arithmetic on its
/// side.
inline void pin(float& r) { asm volatile("" : "+f"(r)::"memory"); }
inline void pin(uint32& r) { asm volatile("" : "+r"(r)::"memory"); }
template <class R, int N>
void pin(R (&registers)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) pin(registers[i]);
}

inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
template <class... Registers>
void wgmma_fence(Registers&... registers) {
  (pin(registers), ...);
  wgmma_fence();
}

template <class T, Major B = Major::kK, Major A = Major::kK, int Half>
void wgmma_m64k16(float (&d)[Half], uint64 a, uint64 b, bool scale_d) {
  WgmmaStatement<2 * Half>::template run<WgmmaType<T>, A == Major::kMN, B == Major::kMN>(d, a, b, scale_d);
}
template <class T, Major B = Major::kK, int Half>
void wgmma_m64k16(float (&d)[Half], const uint32 (&a)[4], uint64 b, bool scale_d) {
  WgmmaStatement<2 * Half>::template run<WgmmaType<T>, B == Major::kMN>(d, a, b, scale_d);
}

inline void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <int Pending, class... Registers>
void wgmma_wait(Registers&... registers) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
  (pin(registers), ...);
}

}  // namespace flashfit::arch
