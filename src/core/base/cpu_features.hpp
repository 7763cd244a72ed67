#pragma once
// The instruction sets of the CPU that runs this, as Highway's targets of these names need them. Highway's own
// detection lives in its shared library; flashfit needs nothing but the C library.

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

namespace flashfit {

inline bool cpu_has_sse4() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
}

inline bool cpu_has_avx2() {
  unsigned a, b, c = 0, d;
  return cpu_has_sse4() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __get_cpuid(1, &a, &b, &c, &d) &&
         (c & bit_F16C);
}

inline bool cpu_has_avx512() {
  return cpu_has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

}  // namespace flashfit
#endif
