// Products of matrices of any storage type in fp32. Compiled once for each Highway target, hence the toggled guard.
//
// Both factors are packed: rows of fp32 with the summed dimension contiguous and padded with zeros to whole vectors. A
// sum has a partial sum in each lane, and the lanes are added at its end, so its order depends on the length alone, not
// on the rows beside it: a token's result is the same in any batch.
#if defined(FLASHFIT_CPU_PRODUCT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHFIT_CPU_PRODUCT_INL
#undef FLASHFIT_CPU_PRODUCT_INL
#else
#define FLASHFIT_CPU_PRODUCT_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "runtime/cpu/convert-inl.hpp"
#include "runtime/cpu/experts_work.hpp"
#include "runtime/cpu/panel-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace flashfit::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A tile's accumulators, a vector of each of its columns and one of a row fill the vector registers.
inline constexpr int kTileRows = (HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3) ? 3 : 4;
inline constexpr int kTileColumns = (HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3) ? 3 : 4;
static_assert(kRowBlock % kTileRows == 0);

/// A length of rows of fp32 that keeps them aligned and whole vectors long.
constexpr std::int64_t padded(std::int64_t count) {
  constexpr std::int64_t kTo = kScratchAlignment / sizeof(float);
  return (count + kTo - 1) / kTo * kTo;
}

template <class Body>
HWY_INLINE void with_type(DType dtype, Body body) {
  if (dtype == DType::kF16)
    body(f16{});
  else if (dtype == DType::kBF16)
    body(bf16{});
  else
    body(float{});
}

/// `count` elements of a row of `m`, from `first` on.
HWY_INLINE void load_part(const Matrix& m, std::int64_t row, std::int64_t first, std::int64_t count, float* to) {
  with_type(m.dtype, [&]<class T>(T /*element*/) {
    const T* from = static_cast<const T*>(m.data) + row * m.row_stride + first * m.column_stride;
    if (m.column_stride == 1) return load_row(from, to, static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) to[i] = to_float(from[i * m.column_stride]);
  });
}

/// Rows [first, first + rows) of `m` in fp32, `columns` long and padded; rows of zeros up to `up_to`.
inline void pack(const Matrix& m, std::int64_t first, std::int64_t rows, std::int64_t columns, std::int64_t up_to,
                 float* to) {
  const std::int64_t stride = padded(columns);
  if (m.column_stride == 1 || m.row_stride != 1) {
    for (std::int64_t r = 0; r < rows; ++r) {
      load_part(m, first + r, 0, columns, to + r * stride);
      std::fill(to + r * stride + columns, to + (r + 1) * stride, 0.0f);
    }
  } else {  // rows lie side by side: read as they lie
    const Matrix turned{m.data, m.dtype, m.column_stride, 1};
    float side[kMostPanelRows];
    for (std::int64_t c = 0; c < stride; ++c) {
      if (c < columns)
        load_part(turned, c, first, rows, side);
      else
        std::fill(side, side + rows, 0.0f);
      for (std::int64_t r = 0; r < rows; ++r) to[r * stride + c] = side[r];
    }
  }
  std::fill(to + rows * stride, to + up_to * stride, 0.0f);
}

/// y[r][c] = a[r] b[c] of kR rows and kTileColumns columns; `length` is padded.
template <int kR>
HWY_INLINE void product_tile(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, std::int64_t length,
                             float* HWY_RESTRICT y, std::int64_t y_stride) {
  const Tag d;
  Vec sums[kR][kTileColumns];
  for (auto& row : sums)
    for (Vec& sum : row) sum = hn::Zero(d);
  for (std::int64_t k = 0; k < length; k += kLanes) {
    Vec column[kTileColumns];
    for (int c = 0; c < kTileColumns; ++c) column[c] = hn::Load(d, b + c * length + k);
    for (int r = 0; r < kR; ++r) {
      const Vec row = hn::Load(d, a + r * length + k);
      for (int c = 0; c < kTileColumns; ++c) sums[r][c] = hn::MulAdd(row, column[c], sums[r][c]);
    }
  }
  for (int r = 0; r < kR; ++r)
    for (int c = 0; c < kTileColumns; ++c) y[r * y_stride + c] = hn::GetLane(hn::SumOfLanes(d, sums[r][c]));
}

/// y[r][c] = a[r] b[c] of packed rows; columns is a multiple of kTileColumns.
inline void product(const float* a, std::int64_t rows, const float* b, std::int64_t columns, std::int64_t length,
                    float* y, std::int64_t y_stride) {
  for (std::int64_t c = 0; c < columns; c += kTileColumns) {
    std::int64_t r = 0;
    for (; r + kTileRows <= rows; r += kTileRows)
      product_tile<kTileRows>(a + r * length, b + c * length, length, y + r * y_stride + c, y_stride);
    for (; r < rows; ++r) product_tile<1>(a + r * length, b + c * length, length, y + r * y_stride + c, y_stride);
  }
}

}  // namespace flashfit::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
