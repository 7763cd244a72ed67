#include "cpu/kernel.hpp"

// Compiled once for each of these targets; the last two are Highway's fallbacks without SIMD (EMU128 by value: old
// versions lack it). Newer AVX-512 targets add nothing here;
// vectors without a compile-time size (SVE, RVV) do not form arrays.
#define HWY_DISABLED_TARGETS (~(HWY_AVX3 | HWY_AVX2 | HWY_SSE4 | HWY_NEON | HWY_SCALAR | 1LL << 61))
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/forward-inl.hpp"
#include <hwy/foreach_target.h>
// Last, for the target that the compiler's flags name.
#include "cpu/forward-inl.hpp"

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

#include <vector>

namespace flashfit::cpu {
namespace {

// Highway's own detection lives in its shared library; flashfit needs nothing but the C library.
#if HWY_ARCH_X86
bool has_sse4() {
  return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
}

bool has_avx2() {
  unsigned a, b, c = 0, d;
  return has_sse4() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __get_cpuid(1, &a, &b, &c, &d) &&
         (c & bit_F16C);
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

std::vector<Kernel> detect() {
  std::vector<Kernel> found;
#if HWY_ARCH_X86
  __builtin_cpu_init();
#endif
#if HWY_TARGETS & HWY_AVX3 & ~HWY_STATIC_TARGET
  if (has_avx512()) found.push_back(N_AVX3::kernel());
#endif
#if HWY_TARGETS & HWY_AVX2 & ~HWY_STATIC_TARGET
  if (has_avx2()) found.push_back(N_AVX2::kernel());
#endif
#if HWY_TARGETS & HWY_SSE4 & ~HWY_STATIC_TARGET
  if (has_sse4()) found.push_back(N_SSE4::kernel());
#endif
  found.push_back(HWY_STATIC_DISPATCH(kernel()));
  return found;
}

}  // namespace

std::span<const Kernel> kernels() {
  static const std::vector<Kernel>* const all = new std::vector<Kernel>(detect());
  return *all;
}

}  // namespace flashfit::cpu
