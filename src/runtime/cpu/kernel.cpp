#include "runtime/cpu/kernel.hpp"

// Compiled once for each of these targets; the last two are Highway's fallbacks without SIMD (EMU128 by value: old
// versions lack it). Newer AVX-512 targets add nothing here;
// vectors without a compile-time size (SVE, RVV) do not form arrays.
#define HWY_DISABLED_TARGETS (~(HWY_AVX3 | HWY_AVX2 | HWY_SSE4 | HWY_NEON | HWY_SCALAR | 1LL << 61))
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/cpu/kernels-inl.hpp"
#include <hwy/foreach_target.h>
// Last, for the target that the compiler's flags name.
#include <vector>

#include "core/base/cpu_features.hpp"
#include "runtime/cpu/kernels-inl.hpp"

namespace flashfit::cpu {
namespace {

std::vector<Kernel> detect() {
  std::vector<Kernel> found;
#if HWY_TARGETS & HWY_AVX3 & ~HWY_STATIC_TARGET
  if (cpu_has_avx512()) found.push_back(N_AVX3::kernel());
#endif
#if HWY_TARGETS & HWY_AVX2 & ~HWY_STATIC_TARGET
  if (cpu_has_avx2()) found.push_back(N_AVX2::kernel());
#endif
#if HWY_TARGETS & HWY_SSE4 & ~HWY_STATIC_TARGET
  if (cpu_has_sse4()) found.push_back(N_SSE4::kernel());
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
