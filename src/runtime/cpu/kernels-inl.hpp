// All that the CPU backend compiles for an instruction set. Compiled once for each Highway target, hence the toggled
// guard.
#if defined(FLASHFIT_CPU_KERNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHFIT_CPU_KERNELS_INL
#undef FLASHFIT_CPU_KERNELS_INL
#else
#define FLASHFIT_CPU_KERNELS_INL
#endif

#include "runtime/cpu/experts_backward-inl.hpp"
#include "runtime/cpu/forward-inl.hpp"
#include "runtime/cpu/kernel.hpp"
#include "runtime/cpu/route-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace flashfit::cpu::HWY_NAMESPACE {

inline Kernel kernel() {
  return {hwy::TargetName(HWY_TARGET), kRows, scratch_bytes, run, route, exp_array, tanh_array, experts_kernels(),
          experts_backward_kernels()};
}

}  // namespace flashfit::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
