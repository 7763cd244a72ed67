// ldmatrix and mma against the maps of layout/fragment.hpp and a plain product.
#include <array>
#include <vector>

#include "kernel.hpp"
#include "layout/fragment.hpp"

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

}  // namespace
}  // namespace flashfit::testing
