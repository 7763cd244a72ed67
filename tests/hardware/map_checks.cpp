// Where the hardware keeps each matrix element, found with operands that are zero but for one element, against the maps
// of src/kernels/layout and the emulator.
#include "hardware/both.hpp"
#include "hardware/probes.cuh"
#include "kernels/layout/fragment.hpp"
#include "proof/reference/tensors.hpp"

namespace flashfit::hardware {
namespace {

// The operand fragments of mma.m16n8k16 (PTX ISA): half h of register i.
int a_row(int lane, int i) { return lane / 4 + i % 2 * 8; }
int a_col(int lane, int i, int h) { return lane % 4 * 2 + h + i / 2 * 8; }
int b_row(int lane, int i, int h) { return lane % 4 * 2 + h + i * 8; }
int b_col(int lane) { return lane / 4; }

template <class T>
std::uint32_t number(int x) {
  return from_float<T>(static_cast<float>(x)).bits;
}

/// Case s has 1 in half s % 2 of register s / 2 % 4 of lane s / 8 of A. Each half of B has a value of its own, 1 ..
/// 128, exact in both types, so the result names the element of B that met A's, and the accumulator that took it.
template <class T>
Outcome mma_map(const Place& place, const char* name) {
  constexpr int kCases = 256;
  std::vector<std::uint32_t> a(kCases * 128, 0), b(kCases * 64);
  std::vector<float> c(kCases * 128, 0.f), expected(kCases * 128, 0.f);
  for (int s = 0; s < kCases; ++s) {
    const int lane = s / 8, reg = s / 2 % 4, half = s % 2;
    a[s * 128 + lane * 4 + reg] = number<T>(1) << 16 * half;
    float at[16][8] = {};
    for (int l = 0; l < 32; ++l)
      for (int i = 0; i < 2; ++i) {
        const int value = (l * 2 + i) * 2 + 1;
        b[s * 64 + l * 2 + i] = number<T>(value) | number<T>(value + 1) << 16;
        for (int h = 0; h < 2; ++h) at[b_row(l, i, h)][b_col(l)] = static_cast<float>(value + h);
      }
    for (int l = 0; l < 32; ++l)
      for (int i = 0; i < 4; ++i)
        if (AccumulatorMap::row(l, i) == a_row(lane, reg))
          expected[s * 128 + l * 4 + i] = at[a_col(lane, reg, half)][AccumulatorMap::col(l, i)];
  }
  Outcome outcome;
  using Kernel = MmaProbe<T>;
  lab::Trial<Kernel> trial{name, {kCases}, {}, [](const lab::Where& at) {
                             return typename Kernel::Params{at.as<const uint32>(0), at.as<const uint32>(1),
                                                            at.as<const float>(2), at.as<float>(3)};
                           }};
  trial.buffers = {{"a", a}, {"b", b}, {"c", c}, {"d", c.size() * 4, true}};
  Both<Kernel> both(trial, place, outcome);
  if (!both.ran) return outcome;
  outcome.demand("gpu_and_map",
                 compare("d", both.gpu.buffers[3].template as<float>(), std::span<const float>(expected)));
  outcome.demand("gpu_and_emulator", both.template compare<float>(3));
  return outcome;
}

/// Rows at the offsets of both orders of src/kernels/layout, and at random ones.
template <bool Trans>
Outcome ldmatrix_map(const Place& place, const char* name) {
  constexpr int kCases = 64, kPitch = 64;
  std::vector<int> offsets(kCases * 32);
  reference::Random random(5);
  for (int s = 0; s < kCases; ++s)
    for (int l = 0; l < 32; ++l) {
      const int row = s == 0 ? LdmatrixMap::down_row(l) : LdmatrixMap::right_row(l);
      const int col = s == 0 ? LdmatrixMap::down_col(l) : LdmatrixMap::right_col(l);
      offsets[s * 32 + l] = s < 2 ? row * kPitch + col : static_cast<int>(random.bits() % 512) * 8;
    }
  // Register k of lane l holds row l / 4, columns 2 (l % 4) and the next of the matrix whose rows lanes 8 k .. point
  // to.
  std::vector<std::uint32_t> expected(kCases * 128);
  for (int s = 0; s < kCases; ++s)
    for (int l = 0; l < 32; ++l)
      for (int k = 0; k < 4; ++k)
        for (int h = 0; h < 2; ++h) {
          const int row = Trans ? l % 4 * 2 + h : l / 4, col = Trans ? l / 4 : l % 4 * 2 + h;
          expected[s * 128 + l * 4 + k] |= std::uint32_t(offsets[s * 32 + k * 8 + row] + col) << 16 * h;
        }
  Outcome outcome;
  using Kernel = LdmatrixProbe<Trans>;
  lab::Trial<Kernel> trial{name, {kCases}, {}, [](const lab::Where& at) {
                             return typename Kernel::Params{at.as<const int>(0), at.as<uint32>(1)};
                           }};
  trial.buffers = {{"offsets", offsets}, {"out", expected.size() * 4, true}};
  Both<Kernel> both(trial, place, outcome);
  if (!both.ran) return outcome;
  outcome.demand("gpu_and_map", compare("out", both.gpu.buffers[1].template as<std::uint32_t>(),
                                        std::span<const std::uint32_t>(expected)));
  outcome.demand("gpu_and_emulator", both.template compare<std::uint32_t>(1));
  return outcome;
}

}  // namespace

std::vector<Check> map_checks() {
  return {{"maps", "mma_fp16", [](const Place& p) { return mma_map<f16>(p, "mma_fp16"); }},
          {"maps", "mma_bf16", [](const Place& p) { return mma_map<bf16>(p, "mma_bf16"); }},
          {"maps", "ldmatrix", [](const Place& p) { return ldmatrix_map<false>(p, "ldmatrix"); }},
          {"maps", "ldmatrix_trans", [](const Place& p) { return ldmatrix_map<true>(p, "ldmatrix_trans"); }}};
}

}  // namespace flashfit::hardware
