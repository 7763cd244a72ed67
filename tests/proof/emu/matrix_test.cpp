// ldmatrix and mma against the maps of kernels/layout/fragment.hpp and a plain product.
#include <algorithm>
#include <array>
#include <vector>

#include "kernel.hpp"
#include "kernels/arch/fragments.hpp"
#include "kernels/layout/fragment.hpp"

namespace flashfit::testing {
namespace {

struct Matrices {
  f16 tile[16 * 16];  ///< element (row, col) is row * 16 + col
};

struct Loaded {
  std::array<std::array<uint32, 4>, 32> down{}, down_trans{}, right{};
};

void fill(Matrices& s) {
  for (int i = arch::lane(); i < 256; i += 32) s.tile[i].bits = static_cast<unsigned short>(i);
  arch::sync_block();
}

uint32 pair(int first, int second) { return static_cast<uint32>(first) | static_cast<uint32>(second) << 16; }

TEST(Ldmatrix, BothOrdersAndTransposed) {
  Loaded loaded;
  const auto ran = run_block<32, Matrices>(loaded, [](Loaded& to) {
    auto& s = arch::shared<Matrices>();
    fill(s);
    const int lane = arch::lane();
    uint32 r[4];
    arch::ldmatrix_x4(r, s.tile, LdmatrixMap::down_row(lane) * 16 + LdmatrixMap::down_col(lane));
    to.down[lane] = {r[0], r[1], r[2], r[3]};
    arch::ldmatrix_x4_trans(r, s.tile, LdmatrixMap::down_row(lane) * 16 + LdmatrixMap::down_col(lane));
    to.down_trans[lane] = {r[0], r[1], r[2], r[3]};
    arch::ldmatrix_x4(r, s.tile, LdmatrixMap::right_row(lane) * 16 + LdmatrixMap::right_col(lane));
    to.right[lane] = {r[0], r[1], r[2], r[3]};
  });
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->ldmatrix, 3u);
  for (int l = 0; l < 32; ++l) {
    for (int i = 0; i < 4; ++i) {
      const int row = l / 4, col = l % 4 * 2;
      const int down_row = i % 2 * 8, down_col = i / 2 * 8, right_row = i / 2 * 8, right_col = i % 2 * 8;
      const int at = (down_row + row) * 16 + down_col + col, at_right = (right_row + row) * 16 + right_col + col;
      EXPECT_EQ(loaded.down[l][i], pair(at, at + 1));
      EXPECT_EQ(loaded.right[l][i], pair(at_right, at_right + 1));
      const int transposed = (down_row + col) * 16 + down_col + row;
      EXPECT_EQ(loaded.down_trans[l][i], pair(transposed, transposed + 16));
    }
  }
}

template <class T>
struct Product {
  float a[16][16], b[16][8], c[16][8];  ///< c += a b
};

/// Operands by the PTX ISA's fragments: a as ldmatrix's down order gives it,
/// b's registers hold two consecutive k of one column.
template <class T>
struct Multiply {
  void operator()(Product<T>& p) const {
    const int lane = arch::lane(), row = lane / 4, col = lane % 4 * 2;
    uint32 a[4], b[2];
    float d[4];
    for (int i = 0; i < 4; ++i) {
      const float* from = &p.a[row + i % 2 * 8][col + i / 2 * 8];
      a[i] = arch::pack<T>(from[0], from[1]);
      d[i] = p.c[AccumulatorMap::row(lane, i)][AccumulatorMap::col(lane, i)];
    }
    for (int i = 0; i < 2; ++i) b[i] = arch::pack<T>(p.b[col + i * 8][row], p.b[col + i * 8 + 1][row]);
    arch::mma_m16n8k16<T>(d, a, b[0], b[1]);
    for (int i = 0; i < 4; ++i) p.c[AccumulatorMap::row(lane, i)][AccumulatorMap::col(lane, i)] = d[i];
  }
};

template <class T>
void expect_product() {
  Product<T> p;
  float want[16][8];
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 16; ++k) p.a[i][k] = static_cast<float>((i * 7 + k * 5) % 23 - 11) / 8;
  for (int k = 0; k < 16; ++k)
    for (int j = 0; j < 8; ++j) p.b[k][j] = static_cast<float>((k * 3 + j * 11) % 19 - 9) / 4;
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j) {
      want[i][j] = p.c[i][j] = static_cast<float>(i - j);
      for (int k = 0; k < 16; ++k) want[i][j] += p.a[i][k] * p.b[k][j];
    }
  }
  const auto ran = run_block<32>(p, Multiply<T>{});
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->mma, 1u);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) EXPECT_EQ(p.c[i][j], want[i][j]) << i << ' ' << j;
}

TEST(Mma, MultipliesF16) { expect_product<f16>(); }
TEST(Mma, MultipliesBF16) { expect_product<bf16>(); }

template <class T>
void expect_infinity_and_nan() {
  Product<T> p{};
  p.a[3][4] = __builtin_inff();
  p.a[5][0] = __builtin_nanf("");
  for (auto& row : p.b)
    for (float& x : row) x = 1;
  ASSERT_TRUE(run_block<32>(p, Multiply<T>{}));
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j) {
      EXPECT_EQ(p.c[i][j] == __builtin_inff(), i == 3);
      EXPECT_EQ(p.c[i][j] != p.c[i][j], i == 5);
    }
  }
}

TEST(Mma, KeepsInfinitiesAndNaNs) {
  expect_infinity_and_nan<f16>();
  expect_infinity_and_nan<bf16>();
}

/// 32 columns of b [k 16, n 32], and transposed [n 32, k 16].
template <class T>
struct Operands {
  alignas(16) T k_rows[16 * 32], n_rows[32 * 16];
};
struct Sums {
  static constexpr int kM = 2, kN = 4;
  using Fragments = std::array<std::array<std::array<std::array<float, 4>, kN>, kM>, 32>;
  Fragments by_registers{}, by_fragments{}, by_rows{}, by_rows_trans{};
};

/// One product four ways: with b in registers, one instruction at a time or all together, and from either matrix of
/// shared memory.
template <class T>
struct MultiplyBothWays {
  void operator()(Sums& sums) const {
    auto& s = arch::shared<Operands<T>>();
    const int lane = arch::lane();
    for (int i = lane; i < 16 * 32; i += 32) {
      const auto x = static_cast<float>(i * 29 % 37 - 18) / 8;
      s.k_rows[i] = s.n_rows[i % 32 * 16 + i / 32] = from_float<T>(x);
    }
    arch::sync_block();
    uint32 a[2][4];
    for (int m = 0; m < 2; ++m)
      for (int i = 0; i < 4; ++i)
        a[m][i] = arch::pack<T>(static_cast<float>((lane * 7 + i + m) % 11) / 4, static_cast<float>(lane % 5 - i - m));
    const auto store = [&](Sums::Fragments& to, const float(&d)[2][4][4]) {
      for (int m = 0; m < 2; ++m)
        for (int n = 0; n < 4; ++n) std::copy_n(d[m][n], 4, to[lane][m][n].begin());
    };
    float by_registers[2][4][4] = {}, by_fragments[2][4][4] = {}, by_rows[2][4][4] = {}, by_rows_trans[2][4][4] = {};
    uint32 fragments[2][4];
    for (int n = 0; n < 4; n += 2) {
      uint32(&b)[4] = fragments[n / 2];
      arch::ldmatrix_x4_trans(b, s.k_rows, LdmatrixMap::down_row(lane) * 32 + n * 8 + LdmatrixMap::down_col(lane));
      for (int m = 0; m < 2; ++m) {
        arch::mma_m16n8k16<T>(by_registers[m][n], a[m], b[0], b[1]);
        arch::mma_m16n8k16<T>(by_registers[m][n + 1], a[m], b[2], b[3]);
      }
    }
    int between = 0;
    for (int m = 0; m < 2; ++m)
      arch::mma_m16n8k16<T>(by_fragments[m], a[m], fragments, m != 0, [&between](int i) { between += i + 1; });
    EXPECT_EQ(between, 2 * (1 + 2));  // before each two
    between = 0;
    const auto count = [&between](int n) { between += n + 1; };
    arch::mma_m16n8k16<T>(
        by_rows, a, s.n_rows,
        [lane](int n) { return (n * 8 + LdmatrixMap::right_row(lane)) * 16 + LdmatrixMap::right_col(lane); }, count);
    arch::mma_m16n8k16_trans<T>(
        by_rows_trans, a, s.k_rows,
        [lane](int n) { return LdmatrixMap::down_row(lane) * 32 + n * 8 + LdmatrixMap::down_col(lane); }, count);
    EXPECT_EQ(between, 2 * (1 + 3));  // after n = 0 and n = 2
    store(sums.by_registers, by_registers);
    store(sums.by_fragments, by_fragments);
    store(sums.by_rows, by_rows);
    store(sums.by_rows_trans, by_rows_trans);
  }
};

template <class T>
void expect_both_ways_the_same() {
  Sums sums;
  const auto ran = run_block<32, Operands<T>>(sums, MultiplyBothWays<T>{});
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->mma, 4u * 8);
  EXPECT_EQ(ran->ldmatrix, 3u * 2);
  EXPECT_EQ(ran->shared_bytes_read, 6u * 512);
  EXPECT_NE(sums.by_registers[9][1][3][2], 0);
  EXPECT_EQ(sums.by_fragments, sums.by_registers);
  EXPECT_EQ(sums.by_rows, sums.by_registers);
  EXPECT_EQ(sums.by_rows_trans, sums.by_registers);
}

TEST(Mma, TakesBFromSharedMemory) {
  expect_both_ways_the_same<f16>();
  expect_both_ways_the_same<bf16>();
}

TEST(Ldmatrix, SeveralAtOnce) {
  Loaded loaded;
  const auto ran = run_block<32, Matrices>(loaded, [](Loaded& to) {
    auto& s = arch::shared<Matrices>();
    fill(s);
    const int lane = arch::lane();
    uint32 r[2][4];
    arch::ldmatrix_x4(r, s.tile, [lane](int m) {
      return m == 0 ? LdmatrixMap::down_row(lane) * 16 + LdmatrixMap::down_col(lane)
                    : LdmatrixMap::right_row(lane) * 16 + LdmatrixMap::right_col(lane);
    });
    to.down[lane] = {r[0][0], r[0][1], r[0][2], r[0][3]};
    to.right[lane] = {r[1][0], r[1][1], r[1][2], r[1][3]};
  });
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->ldmatrix, 2u);
  for (int l = 0; l < 32; ++l) {
    EXPECT_EQ(loaded.down[l][1], pair((8 + l / 4) * 16 + l % 4 * 2, (8 + l / 4) * 16 + l % 4 * 2 + 1));
    EXPECT_EQ(loaded.right[l][1], pair(l / 4 * 16 + 8 + l % 4 * 2, l / 4 * 16 + 8 + l % 4 * 2 + 1));
  }
}

}  // namespace
}  // namespace flashfit::testing
