// mma.m16n8k16 for a whole warp: from fragments (PTX ISA, "Matrix Fragments for mma.m16n8k16") to matrices and back.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emu/collective.hpp"
#include "emu/machine.hpp"
#include "emu/product.hpp"

namespace flashfit::emu {
namespace {

constexpr int kM = 16, kN = 8, kK = 16;

// What registers hold that nothing has written, in kernels compiled with -ftrivial-auto-var-init=pattern: the
// compiler's choice (GCC 12's manual; clang's CGDecl.cpp, which has another for floating point).
#ifdef __clang__
constexpr std::uint32_t kUnwritten = 0xaaaaaaaa, kUnwrittenFloat = 0xffffffff;
#else
constexpr std::uint32_t kUnwritten = 0xfefefefe, kUnwrittenFloat = kUnwritten;
#endif

/// Names the first register that nothing has written, if there is one.
void check_registers(void* const* lanes) {
  for (int l = 0; l < kLanes; ++l) {
    const auto& lane = *static_cast<const MmaOperands*>(lanes[l]);
    std::uint32_t d[4];
    std::memcpy(d, lane.d, sizeof d);
    const auto check = [l](char name, const std::uint32_t* from, int count, std::uint32_t unwritten) {
      const auto i = std::find(from, from + count, unwritten) - from;
      if (i == count) return;
      const Site site = Machine::current().collective_site();
      Machine::current().stop(fmt::format("mma_m16n8k16: lane {}'s {}[{}] was never written", l, name, i), &site);
    };
    check('a', lane.a, 4, kUnwritten);
    check('b', lane.b, 2, kUnwritten);
    check('d', d, 4, kUnwrittenFloat);
  }
}

/// Whether check_registers() may find something: quicker, on the matrices.
bool may_be_unwritten(const unsigned short (&a)[kM * kK], const unsigned short (&b)[kK * kN],
                      const float (&d)[kM * kN]) {
  // Each in a variable as wide as what it looks at, so that the loops become vectors.
  constexpr auto kHalf = static_cast<unsigned short>(kUnwritten);
  unsigned short in_operands = 0;
  for (const unsigned short x : a) in_operands |= x == kHalf ? 1 : 0;
  for (const unsigned short x : b) in_operands |= x == kHalf ? 1 : 0;
  std::uint32_t bits[kM * kN], in_sums = 0;
  std::memcpy(bits, d, sizeof bits);
  for (const std::uint32_t x : bits) in_sums |= x == kUnwrittenFloat ? 1u : 0u;
  return in_operands != 0 || in_sums != 0;
}

template <DType T>
void multiply(void* const* lanes) {
  unsigned short a[kM * kK], b[kK * kN];
  float d[kM * kN];
  for (int l = 0; l < kLanes; ++l) {
    const auto& lane = *static_cast<const MmaOperands*>(lanes[l]);
    const int row = l / 4, col = l % 4 * 2;
    for (int i = 0; i < 4; ++i) std::memcpy(&a[(row + i % 2 * 8) * kK + col + i / 2 * 8], &lane.a[i], 4);
    for (int i = 0; i < 2; ++i) {
      b[(col + i * 8) * kN + row] = static_cast<unsigned short>(lane.b[i]);
      b[(col + i * 8 + 1) * kN + row] = static_cast<unsigned short>(lane.b[i] >> 16);
      std::memcpy(&d[(row + i * 8) * kN + col], lane.d + 2 * i, 8);
    }
  }
  if (may_be_unwritten(a, b, d)) check_registers(lanes);
  accumulate(T, {a, b, d, kM, kN}, static_cast<const MmaOperands*>(lanes[0])->core);
  for (int l = 0; l < kLanes; ++l)
    for (int i = 0; i < 2; ++i)
      std::memcpy(static_cast<MmaOperands*>(lanes[l])->d + 2 * i, &d[(l / 4 + i * 8) * kN + l % 4 * 2], 8);
}

}  // namespace

constexpr Collective kMmaM16N8K16F16{"mma_m16n8k16", multiply<DType::kF16>, &Stats::mma};
constexpr Collective kMmaM16N8K16BF16{"mma_m16n8k16", multiply<DType::kBF16>, &Stats::mma};

}  // namespace flashfit::emu
