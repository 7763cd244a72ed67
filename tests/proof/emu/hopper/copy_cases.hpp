#pragma once
// Cases of tensor copies. Part of matrix_cases.hpp.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace flashfit::testing {

/// Boxes of a tensor [2][3][5][9][160] of 16-bit numbers, seen as (d, s, h, b, t): neither s nor h is next to d in
/// memory, and d ends before its rows do.
struct BoxTensor {
  static constexpr int kDims[5] = {72, 9, 5, 3, 2}, kElements = 2 * 3 * 5 * 9 * 160;
  static constexpr int kStrides[5] = {1, 160, 160 * 9, 160 * 9 * 5, 160 * 9 * 5 * 3};
};

/// A box's extents, and where its element e lies: in the tensor, negative if outside; in shared memory.
template <int Dims, SwizzleMode Mode, int Cols, int Rows, int Heads, int Batches, int Times>
struct Box {
  static constexpr int kExtents[5] = {Cols, Rows, Heads, Batches, Times};
  static constexpr int kElements = Cols * Rows * Heads * Batches * Times;

  static int in_tensor(const std::vector<int>& at, int e) {
    int place = 0;
    for (int d = 0; d < Dims; ++d) {
      const int i = element(at, d) + e % kExtents[d];
      e /= kExtents[d];
      if (i < 0 || i >= BoxTensor::kDims[d]) return -1;
      place += i * BoxTensor::kStrides[d];
    }
    return place;
  }
  static int in_shared(int e) {
    const int line = e * 2 / 128, chunk = e / 8 % 8 ^ (line & (row_bytes(Mode) / 16 - 1));
    return line * 64 + chunk * 8 + e % 8;
  }
  static TensorMapSpec spec(const void* base) {
    TensorMapSpec spec{
        .dtype = DType::kF16, .rank = Dims, .base = base, .dims = {}, .strides = {}, .box = {}, .swizzle = Mode};
    for (int d = 0; d < Dims; ++d) {
      spec.dims[d] = static_cast<uint64>(BoxTensor::kDims[d]);
      spec.box[d] = static_cast<uint32>(kExtents[d]);
      if (d > 0) spec.strides[d - 1] = static_cast<uint64>(BoxTensor::kStrides[d]) * 2;
    }
    return spec;
  }
};

inline std::string place_in_words(const std::vector<int>& at) { return fmt::format("{}", fmt::join(at, ", ")); }

template <int Dims, SwizzleMode Mode, int Cols, int Rows, int Heads, int Batches, int Times = 1>
auto load_box(const std::vector<int>& at) {
  using TheBox = Box<Dims, Mode, Cols, Rows, Heads, Batches, Times>;
  using Kernel = LoadBoxKernel<Dims, Mode, TheBox::kElements>;
  std::vector<f16> tensor(BoxTensor::kElements);
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i].bits = static_cast<unsigned short>(i * 3 + 1);
  std::vector<f16> image(TheBox::kElements, f16{0});
  for (int e = 0; e < TheBox::kElements; ++e)
    if (const int from = TheBox::in_tensor(at, e); from >= 0)
      element(image, TheBox::in_shared(e)) = element(tensor, from);
  return MatrixCase<Kernel>{fmt::format("flashfit::testing::LoadBoxKernel<{}, flashfit::SwizzleMode::{}, {}>", Dims,
                                        spelled(Mode), TheBox::kElements),
                            fmt::format("{}-d box at {}, {}", Dims, place_in_words(at), name_of(Mode)),
                            {bytes_of(tensor)},
                            blank(TheBox::kElements * 2),
                            bytes_of(image),
                            [at](const std::vector<const void*>& in, void* out, const EncodeMap& encode) {
                              typename Kernel::Params p{encode(TheBox::spec(in[0])), static_cast<f16*>(out), {}};
                              std::copy(at.begin(), at.end(), p.at);
                              return p;
                            }};
}

template <bool Add, int Dims, SwizzleMode Mode, int Cols, int Rows, int Heads, int Batches, int Times = 1>
auto store_box(const std::vector<int>& at) {
  using TheBox = Box<Dims, Mode, Cols, Rows, Heads, Batches, Times>;
  using Kernel = StoreBoxKernel<Dims, Mode, TheBox::kElements, Add>;
  const auto before_at = [](int i) { return static_cast<float>(i % 97 - 48); };
  std::vector<f16> before, image(TheBox::kElements);
  for (int i = 0; i < BoxTensor::kElements; ++i) before.push_back(from_float<f16>(before_at(i)));
  std::vector<f16> after = before;
  for (int e = 0; e < TheBox::kElements; ++e) {
    const auto value = static_cast<float>(e % 1999 - 999);
    element(image, TheBox::in_shared(e)) = from_float<f16>(value);
    if (const int to = TheBox::in_tensor(at, e); to >= 0)
      element(after, to) = from_float<f16>(value + (Add ? before_at(to) : 0));
  }
  return MatrixCase<Kernel>{
      fmt::format("flashfit::testing::StoreBoxKernel<{}, flashfit::SwizzleMode::{}, {}, {}>", Dims, spelled(Mode),
                  TheBox::kElements, Add),
      fmt::format("{}-d box {} at {}, {}", Dims, Add ? "added" : "stored", place_in_words(at), name_of(Mode)),
      {bytes_of(image)},
      bytes_of(before),
      bytes_of(after),
      [at](const std::vector<const void*>& in, void* out, const EncodeMap& encode) {
        typename Kernel::Params p{encode(TheBox::spec(out)), static_cast<const f16*>(in[0]), {}};
        std::copy(at.begin(), at.end(), p.at);
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
  visit(load_box<5, SwizzleMode::kNone, 16, 4, 3, 2, 2>({64, -1, 3, -1, 1}));
  visit(load_box<5, SwizzleMode::k64B, 32, 3, 2, 2, 3>({-8, 7, -1, 2, -1}));
  visit(store_box<false, 5, SwizzleMode::kNone, 16, 4, 3, 2, 2>({64, 7, 3, 2, 1}));
  visit(store_box<false, 5, SwizzleMode::k64B, 32, 3, 2, 2, 3>({48, 7, 0, 2, 0}));
  visit(store_box<true, 5, SwizzleMode::k128B, 64, 2, 3, 2, 2>({40, 8, 3, 1, 1}));
  visit(turn_tile<SwizzleMode::k32B, false, false>());
  visit(turn_tile<SwizzleMode::k64B, true, false>());
  visit(turn_tile<SwizzleMode::k128B, false, false>());
  visit(turn_tile<SwizzleMode::k128B, true, true>());
  visit(multicast_box());
}

}  // namespace flashfit::testing
