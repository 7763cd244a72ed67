// mma.m16n8k16 for a whole warp: from fragments (PTX ISA, "Matrix Fragments for mma.m16n8k16") to matrices and back.
#include <fmt/format.h>

#include <cstring>

#include "proof/emu/collective.hpp"
#include "proof/emu/machine.hpp"
#include "proof/emu/matrix_rows.hpp"
#include "proof/emu/product.hpp"

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
      for (int i = 0; i < count; ++i) {
        std::uint32_t bits;
        std::memcpy(&bits, static_cast<const std::byte*>(from) + i * 4, sizeof bits);
        if (bits != unwritten) continue;
        const Site site = Machine::current().collective_site();
        Machine::current().stop(fmt::format("mma_m16n8k16: lane {}'s {}[{}] was never written", l, name, i), &site);
      }
    };
    check('a', lane.a, 4 * lane.rows, kUnwritten);
    if (lane.b != nullptr) check('b', lane.b, 2 * lane.columns, kUnwritten);
    check('d', lane.d, 4 * lane.rows * lane.columns, kUnwrittenFloat);
  }
}

/// Whether one element is x. Without a way out of the loop, so that it becomes vectors.
template <class T>
bool any(const T* elements, int count, T x) {
  T found = 0;
  for (int i = 0; i < count; ++i) found |= elements[i] == x ? 1 : 0;
  return found != 0;
}

struct Matrices {
  static constexpr int kAllM = MmaOperands::kMostRows * kM, kAllN = MmaOperands::kMostColumns * kN;
  unsigned short a[kAllM * kK], b[kK * kAllN];
  float d[kAllM * kAllN];
};

/// b of all columns from the lanes' registers.
void gather_b(void* const* lanes, int columns, unsigned short* b) {
  const int n = columns * kN;
  for (int l = 0; l < kLanes; ++l)
    for (int i = 0; i < 2 * columns; ++i) {
      const uint32 pair = of<MmaOperands>(lanes, l).b[i];
      unsigned short* const to = &b[(l % 4 * 2 + i % 2 * 8) * n + i / 2 * kN + l / 4];
      to[0] = static_cast<unsigned short>(pair);
      to[n] = static_cast<unsigned short>(pair >> 16);
    }
}

/// b of all columns from shared memory. Of each ldmatrix_x4 the lanes 0 .. 15 have the rows of b[n], 16 .. 31 of
/// b[n + 1]: matrices of k x n with Trans, else of n x k.
template <bool Trans>
void load_b(void* const* lanes, int columns, unsigned short* b) {
  const int n = columns * kN;
  for (int pair = 0; pair < columns / 2; ++pair) {
    MatrixRows rows;
    for (int l = 0; l < kLanes; ++l) rows[l] = of<MmaOperands>(lanes, l).b_rows[pair];
    check_rows(rows, Trans ? kSharedMmaTrans.loads : kSharedMma.loads);
    for (int l = 0; l < kLanes; ++l) {
      const auto* const from = reinterpret_cast<const unsigned short*>(rows[l]);
      unsigned short* const matrix = b + l / 8 % 2 * 8 * n + pair * 16 + l / 16 * 8;
      if constexpr (Trans)
        std::memcpy(matrix + l % 8 * n, from, 16);
      else
        for (int k = 0; k < 8; ++k) matrix[k * n + l % 8] = from[k];
    }
  }
}

template <DType T>
void multiply(void* const* lanes, Matrices& x) {
  const MmaOperands& operands = of<MmaOperands>(lanes, 0);
  const int rows = operands.rows, columns = operands.columns, n = columns * kN;
  // Pairs of columns of the sums, in the matrix and in the lanes' registers.
  const auto each_pair = [&](auto move) {
    for (int l = 0; l < kLanes; ++l) {
      float* registers = of<MmaOperands>(lanes, l).d;
      for (int m = 0; m < rows; ++m) {
        float* const row = &x.d[(m * kM + l / 4) * n + l % 4 * 2];
        for (int j = 0; j < n; j += kN, registers += 4) {
          move(row + j, registers);
          move(row + 8 * n + j, registers + 2);
        }
      }
    }
  };
  for (int l = 0; l < kLanes; ++l)
    for (int m = 0; m < rows; ++m)
      for (int i = 0; i < 4; ++i)
        std::memcpy(&x.a[(m * kM + l / 4 + i % 2 * 8) * kK + l % 4 * 2 + i / 2 * 8],
                    &of<MmaOperands>(lanes, l).a[m * 4 + i], 4);
  each_pair([](float* matrix, const float* registers) { std::memcpy(matrix, registers, 8); });
  constexpr auto kHalf = static_cast<unsigned short>(kUnwritten);
  const auto sums = [&](int i) {
    std::uint32_t bits;
    std::memcpy(&bits, x.d + i, sizeof bits);
    return bits;
  };
  std::uint32_t unwritten = 0;
  for (int i = 0; i < rows * kM * n; ++i) unwritten |= sums(i) == kUnwrittenFloat ? 1 : 0;
  if (unwritten != 0 || any(x.a, rows * kM * kK, kHalf) || (operands.b != nullptr && any(x.b, kK * n, kHalf)))
    check_registers(lanes);
  accumulate(T, {x.a, x.b, x.d, rows * kM, n}, Machine::current().tensor_core());
  each_pair([](const float* matrix, float* registers) { std::memcpy(registers, matrix, 8); });
  Machine::current().count(&Stats::mma, static_cast<std::uint64_t>(rows * columns) - 1);  // one is the meeting's
}

/// Too large for the stack of a fibre. Nobody else runs before an instruction is done.
Matrices& matrices() {
  static thread_local Matrices all;
  return all;
}

template <DType T>
void mma(void* const* lanes) {
  Matrices& x = matrices();
  gather_b(lanes, of<MmaOperands>(lanes, 0).columns, x.b);
  multiply<T>(lanes, x);
}

template <DType T, bool Trans>
void shared_mma(void* const* lanes) {
  Matrices& x = matrices();
  const int columns = of<MmaOperands>(lanes, 0).columns;
  load_b<Trans>(lanes, columns, x.b);
  Machine::current().count(&Stats::ldmatrix, static_cast<std::uint64_t>(columns) / 2);
  multiply<T>(lanes, x);
}

template <bool Trans>
constexpr SharedMma shared_mma_ops(const char* name, const char* loads) {
  return {
      loads, {name, shared_mma<DType::kF16, Trans>, &Stats::mma}, {name, shared_mma<DType::kBF16, Trans>, &Stats::mma}};
}

}  // namespace

constexpr Collective kMmaF16{"mma_m16n8k16", mma<DType::kF16>, &Stats::mma};
constexpr Collective kMmaBF16{"mma_m16n8k16", mma<DType::kBF16>, &Stats::mma};
constexpr SharedMma kSharedMma = shared_mma_ops<false>("mma_m16n8k16", "ldmatrix_x4");
constexpr SharedMma kSharedMmaTrans = shared_mma_ops<true>("mma_m16n8k16_trans", "ldmatrix_x4_trans");

}  // namespace flashfit::emu
