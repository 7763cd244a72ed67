#pragma once
// Cases of tensor copies. Part of matrix_cases.hpp.
#include <fmt/format.h>

namespace flashfit::testing {

/// Of a tensor [3][5][9][160] of 16-bit numbers, seen as (d, s, h, b): neither s nor h is next to d in memory.
template <int Dims, SwizzleMode Mode, int Cols, int Rows, int Heads, int Batches>
MatrixCase<LoadBoxKernel<Dims, Mode, Cols * Rows * Heads * Batches>> load_box(std::vector<int> at) {
  constexpr int kElements = Cols * Rows * Heads * Batches;
  static constexpr int kDims[4] = {72, 9, 5, 3}, kStrides[4] = {1, 160, 160 * 9, 160 * 9 * 5},
                       kBox[4] = {Cols, Rows, Heads, Batches};
  std::vector<f16> tensor(3 * 5 * 9 * 160);
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i].bits = static_cast<unsigned short>(i * 3 + 1);
  std::vector<f16> image(kElements, f16{0});
  for (int e = 0; e < kElements; ++e) {
    bool inside = true;
    int from = 0, left = e;
    for (int d = 0; d < Dims; ++d) {
      const int i = element(at, d) + left % kBox[d];
      left /= kBox[d];
      inside = inside && i >= 0 && i < kDims[d];
      from += i * kStrides[d];
    }
    const int line = e * 2 / 128, chunk = e / 8 % 8 ^ (line & (row_bytes(Mode) / 16 - 1));
    if (inside) element(image, line * 64 + chunk * 8 + e % 8) = element(tensor, from);
  }
  return {
      fmt::format("flashfit::testing::LoadBoxKernel<{}, flashfit::SwizzleMode::{}, {}>", Dims, spelled(Mode),
                  kElements),
      fmt::format("{}-d box at {}, {}, {}", Dims, at[0], at[1], name_of(Mode)),
      {bytes_of(tensor)},
      blank(kElements * 2),
      bytes_of(image),
      [at](const std::vector<const void*>& in, void* out, const EncodeMap& encode) {
        TensorMapSpec spec{
            .dtype = DType::kF16, .rank = Dims, .base = in[0], .dims = {}, .strides = {}, .box = {}, .swizzle = Mode};
        typename LoadBoxKernel<Dims, Mode, kElements>::Params p{{}, static_cast<f16*>(out), {}};
        for (int d = 0; d < Dims; ++d) {
          spec.dims[d] = static_cast<uint64>(kDims[d]);
          spec.box[d] = static_cast<uint32>(kBox[d]);
          if (d > 0) spec.strides[d - 1] = static_cast<uint64>(kStrides[d]) * 2;
          p.at[d] = element(at, d);
        }
        p.map = encode(spec);
        return p;
      }};
}

/// From a 96 x 128 matrix at (32, 40), where it leaves the tensor, into 90 x 120 of one at (64, 48).
template <SwizzleMode Mode, bool Trans, bool Add>
MatrixCase<TurnTileKernel<Mode, Trans, Add>> turn_tile() {
  constexpr int kInX = 64, kInY = 40, kOutX = 64, kOutY = 48;
  const std::vector<f16> in = matrix<f16>(96, 128, 1), before = matrix<f16>(96, 128, 2);
  std::vector<f16> after = before;
  for (int r = 0; r < 64; ++r)
    for (int c = 0; c < 64; ++c) {
      const int from_row = kInY + (Trans ? c : r), from_col = kInX + (Trans ? r : c);
      const float moved = from_row < 96 ? integer(from_row, from_col, 1) : 0.f;
      const int row = kOutY + r, col = kOutX + c;
      if (row < 90 && col < 120)
        element(after, row * 128 + col) = from_float<f16>(moved + (Add ? integer(row, col, 2) : 0.f));
    }
  return {
      fmt::format("flashfit::testing::TurnTileKernel<flashfit::SwizzleMode::{}, {}, {}>", spelled(Mode), Trans, Add),
      fmt::format("a tile {}{}, {}", Trans ? "transposed and " : "", Add ? "added" : "stored", name_of(Mode)),
      {bytes_of(in)},
      bytes_of(before),
      bytes_of(after),
      [](const std::vector<const void*>& inputs, void* out, const EncodeMap& encode) {
        TensorMapSpec to = matrix_spec<f16>(out, 96, 128, 64, Mode);
        to.dims[0] = 120;
        to.dims[1] = 90;
        return typename TurnTileKernel<Mode, Trans, Add>::Params{
            encode(matrix_spec<f16>(inputs[0], 96, 128, 64, Mode)), encode(to), {kInX, kInY}, {kOutX, kOutY}};
      }};
}

inline MatrixCase<MulticastBoxKernel> multicast_box() {
  const std::vector<f16> in = matrix<f16>(64, 64, 3);
  std::vector<f16> image(2 * 64 * 64);
  for (int i = 0; i < 64 * 64; ++i)
    for (int block = 0; block < 2; ++block) element(image, block * 64 * 64 + (i ^ i / 64 % 8 * 8)) = element(in, i);
  return {"flashfit::testing::MulticastBoxKernel",
          "a tile in halves for two blocks",
          {bytes_of(in)},
          blank(image.size() * 2),
          bytes_of(image),
          [](const std::vector<const void*>& inputs, void* out, const EncodeMap& encode) {
            return MulticastBoxKernel::Params{encode(matrix_spec<f16>(inputs[0], 64, 64, 32, SwizzleMode::k128B)),
                                              static_cast<f16*>(out)};
          }};
}

template <class Visit>
void for_each_copy_case(Visit visit) {
  visit(load_box<2, SwizzleMode::kNone, 64, 16, 1, 1>({0, 0}));
  visit(load_box<2, SwizzleMode::k32B, 16, 32, 1, 1>({16, -4}));
  visit(load_box<2, SwizzleMode::k64B, 32, 32, 1, 1>({48, -4}));
  visit(load_box<2, SwizzleMode::k128B, 64, 32, 1, 1>({-8, 3}));
  visit(load_box<3, SwizzleMode::k64B, 32, 4, 6, 1>({40, 2, -1}));
  visit(load_box<4, SwizzleMode::k128B, 64, 4, 2, 3>({16, 6, 1, 1}));
  visit(load_box<4, SwizzleMode::k128B, 64, 8, 2, 1>({0, 40, 2, 1}));
  visit(turn_tile<SwizzleMode::k32B, false, false>());
  visit(turn_tile<SwizzleMode::k64B, true, false>());
  visit(turn_tile<SwizzleMode::k128B, false, false>());
  visit(turn_tile<SwizzleMode::k128B, true, true>());
  visit(multicast_box());
}

}  // namespace flashfit::testing
