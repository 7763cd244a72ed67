#pragma once
// Slices of a product's operand, global memory -> shared tile, asynchronously, 16 bytes a thread and copy.
#include "kernels/arch/arch.hpp"
#include "kernels/arch/fragments.hpp"

namespace flashfit {

/// From where a thread copies 16 bytes of a slice; zeros stand for them where !is_there.
template <class T>
struct SliceSource {
  const T* g;
  bool is_there;
};

/// A thread's copies of slice after slice. Eight or fewer neighbours copy a row of a panel, and all a few rows in a
/// pass. The operand's depth goes along a tile's columns, or down its rows if kDown, as transposed weights lie.
/// Each copy has a pointer of its own, which moves on once a slice: one that is computed anew for each copy would have
/// to wait until the copy before has read its own, and the products behind it with it.
template <class T, class Tile, int Threads, bool kDown>
class SliceCopies {
  static constexpr int kChunks = Tile::kPanel / 8, kAtOnce = Threads / kChunks, kPasses = Tile::kRows / kAtOnce;
  static constexpr int kPanels = Tile::kCols / Tile::kPanel;
  static_assert(kAtOnce % 8 == 0 && Tile::kRows % kAtOnce == 0 && (kDown || kPanels == 1));
  static int row(int i) { return arch::thread() / kChunks + i / kPanels * kAtOnce; }
  static int column(int i) { return arch::thread() % kChunks * 8 + i % kPanels * Tile::kPanel; }

 public:
  static constexpr int kCopies = kPasses * kPanels;
  static_assert(kCopies <= 32, "a bit each");

  /// source(r, c) is the first slice's SliceSource for row r and the 8 columns from c on of the tile at s_base; of the
  /// next slice it is `step` elements further. What lies at `depth` and beyond, a multiple of 8 unless kDown, becomes
  /// zeros.
  template <class Source>
  SliceCopies(T* s_base, int depth, int64 step, Source source)
      : step_(step),
        left_(depth - (kDown ? row(0) : column(0))),
        are_there_(0),
        to_(arch::in_one_address(s_base, Tile::offset(row(0), column(0)))) {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const SliceSource<T> from = source(row(i), column(i));
      g_[i] = from.g;
      are_there_ |= (from.is_there ? 1u : 0u) << i;
    }
  }

  /// Starts the i-th copy of a slice, to the tile `s_offset` elements behind the one at s_base.
  void start(int s_offset, int i) const {
    const int pass = i / kPanels, panel = i % kPanels;
    arch::cp_async_16_of_line(
        to_.s_base, Tile::down(to_.s_offset + s_offset, pass * kAtOnce) + panel * (Tile::kRows * Tile::kPanel), g_[i],
        0, (are_there_ >> i & 1) != 0 && (kDown ? pass * kAtOnce : 0) < left_);
  }
  /// Goes on to the next slice.
  void advance() {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) g_[i] += step_;
    left_ -= kDown ? Tile::kRows : Tile::kCols;
  }

 private:
  const T* g_[kCopies];
  int64 step_;
  int left_;  // of the depth, from this thread's first on
  uint32 are_there_;
  arch::SharedPlace<T> to_;
};

}  // namespace flashfit
