#pragma once
// What a backward of a layer of experts computes between its products (params.hpp has the formulas), in one pass over
// z and dh. A warp takes a row, each lane 8 features at a time: nothing is shared, and a row's sum has one order.
#include "kernels/arch/arch.hpp"
#include "kernels/arch/steps.hpp"
#include "kernels/moe/experts/gradient/params.hpp"
#include "kernels/moe/experts/gradient/slopes.cuh"

namespace flashfit {

template <ActivationGradientConfig C>
struct ActivationGradientKernel {
  using Params = ActivationGradientParams;
  using T = Element<C.dtype>;
  static_assert(C.dtype != DType::kF32 && arch::kHas<T>, "bf16 needs compute capability 8.0");
  struct Shared {
    int nothing;
  };
  static constexpr int kThreads = kGradientWarps * 32, kMinBlocks = 4;

  static void run(const Params& p) {
    arch::wait_for_step_before();
    switch (p.activation) {
      case Activation::kSwiglu:
        return row<Activation::kSwiglu>(p);
      case Activation::kGegluTanh:
        return row<Activation::kGegluTanh>(p);
      case Activation::kGegluErf:
        return row<Activation::kGegluErf>(p);
      case Activation::kSilu:
        return row<Activation::kSilu>(p);
      case Activation::kRelu2:
        return row<Activation::kRelu2>(p);
    }
  }

 private:
  static constexpr int kEach = 8;  // features that a lane takes at once: 16 bytes

  template <Activation A>
  static void row(const Params& p) {
    const int64 row = int64{arch::block().x} * kGradientWarps + arch::warp();
    if (row >= p.rows) return;
    const int choice = arch::load(p.choices, row);
    const int64 of_z = row * p.features * (has_gate(A) ? 2 : 1), of_h = row * p.features;
    const float weight = choice >= 0 && p.weights != nullptr ? arch::load(p.weights, choice) : 1.f;
    float sum = 0.f;
    for (int column = arch::lane() * kEach; column < p.features; column += 32 * kEach) {
      Bytes16 dgate = {}, dup = {}, h = {};
      if (choice >= 0) {
        Bytes16 gate = {};
        if constexpr (has_gate(A)) gate = arch::load<Bytes16>(static_cast<const T*>(p.z), of_z + column);
        const Bytes16 up =
            arch::load<Bytes16>(static_cast<const T*>(p.z), of_z + (has_gate(A) ? p.features : 0) + column);
        const Bytes16 dh = arch::load<Bytes16>(static_cast<const T*>(p.dh), of_h + column);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float of_gate[2], of_up[2], values[2];
#pragma unroll
          for (int k = 0; k < 2; ++k) {
            const ActivationSlopes s = slopes_of<A>(p, half(gate, 2 * i + k), half(up, 2 * i + k));
            const float d = half(dh, 2 * i + k);
            sum = arch::multiply_add(d, s.h, sum);
            of_gate[k] = weight * (d * s.by_gate), of_up[k] = weight * (d * s.by_up), values[k] = weight * s.h;
          }
          dgate.words[i] = arch::pack<T>(of_gate[0], of_gate[1]);
          dup.words[i] = arch::pack<T>(of_up[0], of_up[1]);
          h.words[i] = arch::pack<T>(values[0], values[1]);
        }
      }
      arch::store_if(true, static_cast<T*>(p.h), of_h + column, h);
      put<A>(p, of_z, column, dgate, dup);
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) sum += arch::shuffle_xor(sum, mask);
    arch::store_if(choice >= 0 && p.dweights != nullptr && arch::lane() == 0, p.dweights, choice, sum);
  }

  static float half(const Bytes16& x, int i) {
    return arch::widen(T{static_cast<unsigned short>(x.words[i / 2] >> i % 2 * 16)});
  }

  /// dz of 8 features.
  template <Activation A>
  static void put(const Params& p, int64 of_z, int column, const Bytes16& dgate, const Bytes16& dup) {
    T* const g_dz = static_cast<T*>(p.dz);
    if (has_gate(A) && p.interleaved != 0) {
      Bytes16 lo, hi;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const uint32 gates = dgate.words[i], ups = dup.words[i];
        Bytes16& to = i < 2 ? lo : hi;
        to.words[i % 2 * 2] = (gates & 0xffffu) | ups << 16;
        to.words[i % 2 * 2 + 1] = gates >> 16 | (ups & 0xffff0000u);
      }
      arch::store_if(true, g_dz, of_z + 2 * column, lo);
      arch::store_if(true, g_dz, of_z + 2 * column + kEach, hi);
      return;
    }
    if constexpr (has_gate(A)) arch::store_if(true, g_dz, of_z + column, dgate);
    arch::store_if(true, g_dz, of_z + (has_gate(A) ? p.features : 0) + column, dup);
  }
};

}  // namespace flashfit
