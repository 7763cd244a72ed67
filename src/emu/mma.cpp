// mma.m16n8k16 for a whole warp: from fragments (PTX ISA, "Matrix Fragments for mma.m16n8k16") to matrices and back.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emu/collective.hpp"
#include "emu/machine.hpp"
#include "emu/product.hpp"

namespace flashfit::emu {
namespace {

constexpr int kM = 16, kN = 8, kK = 16;  // of one instruction

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
    const auto& lane = of<MmaOperands>(lanes, l);
    const auto check = [l](char name, const void* from, int count, std::uint32_t unwritten) {
      std::uint32_t registers[4 * MmaOperands::kMostRows];
      std::memcpy(registers, from, static_cast<std::size_t>(count) * 4);
      const auto i = std::find(registers, registers + count, unwritten) - registers;
      if (i == count) return;
      const Site site = Machine::current().collective_site();
      Machine::current().stop(fmt::format("mma_m16n8k16: lane {}'s {}[{}] was never written", l, name, i), &site);
    };
    check('a', lane.a, 4 * lane.rows, kUnwritten);
    check('b', lane.b, 2 * lane.columns, kUnwritten);
    for (int m = 0; m < lane.rows; ++m) check('d', lane.d + m * lane.d_stride, 4 * lane.columns, kUnwrittenFloat);
  }
}

/// Whether one element is x. Without a way out of the loop, so that it becomes vectors.
template <class T, std::size_t N>
bool any(const T (&elements)[N], T x) {
  T found = 0;
  for (const T element : elements) found |= element == x ? 1 : 0;
  return found != 0;
}

template <DType T, int Rows, int Columns>
void multiply(void* const* lanes) {
  constexpr int kAllM = Rows * kM, kAllN = Columns * kN;
  const auto lane = [lanes](int l) -> const MmaOperands& { return of<MmaOperands>(lanes, l); };
  unsigned short a[kAllM * kK], b[kK * kAllN];
  float d[kAllM * kAllN];
  // Pairs of columns of the sums, in the matrix and in the lanes' registers.
  const auto each_pair = [&](auto move) {
    for (int l = 0; l < kLanes; ++l)
      for (int m = 0; m < Rows; ++m)
        for (int j = 0; j < Columns; ++j)
          for (int i = 0; i < 2; ++i)
            move(&d[(m * kM + l / 4 + i * 8) * kAllN + j * kN + l % 4 * 2],
                 lane(l).d + m * lane(l).d_stride + j * 4 + i * 2);
  };
  for (int l = 0; l < kLanes; ++l) {
    const int row = l / 4, col = l % 4 * 2;
    for (int m = 0; m < Rows; ++m)
      for (int i = 0; i < 4; ++i)
        std::memcpy(&a[(m * kM + row + i % 2 * 8) * kK + col + i / 2 * 8], &lane(l).a[m * 4 + i], 4);
    for (int j = 0; j < Columns; ++j)
      for (int i = 0; i < 2; ++i) {
        unsigned short* const to = &b[(col + i * 8) * kAllN + j * kN + row];
        to[0] = static_cast<unsigned short>(lane(l).b[j * 2 + i]);
        to[kAllN] = static_cast<unsigned short>(lane(l).b[j * 2 + i] >> 16);
      }
  }
  each_pair([](float* matrix, const float* registers) { std::memcpy(matrix, registers, 8); });
  std::uint32_t bits[kAllM * kAllN];
  std::memcpy(bits, d, sizeof bits);
  constexpr auto kHalf = static_cast<unsigned short>(kUnwritten);
  if (any(a, kHalf) || any(b, kHalf) || any(bits, kUnwrittenFloat)) check_registers(lanes);
  accumulate(T, {a, b, d, kAllM, kAllN}, lane(0).core);
  each_pair([](const float* matrix, float* registers) { std::memcpy(registers, matrix, 8); });
  Machine::current().count(&Stats::mma, Rows * Columns - 1);  // one is the meeting's
}

template <DType T>
void multiply(void* const* lanes) {
  const auto& operands = of<MmaOperands>(lanes, 0);
  if (operands.columns == 1) return multiply<T, 1, 1>(lanes);
  constexpr void (*kByRows[])(void* const*) = {multiply<T, 1, 2>, multiply<T, 2, 2>, multiply<T, 3, 2>,
                                               multiply<T, 4, 2>};
  kByRows[operands.rows - 1](lanes);
}

}  // namespace

constexpr Collective kMmaM16N8K16F16{"mma_m16n8k16", multiply<DType::kF16>, &Stats::mma};
constexpr Collective kMmaM16N8K16BF16{"mma_m16n8k16", multiply<DType::kBF16>, &Stats::mma};

}  // namespace flashfit::emu
