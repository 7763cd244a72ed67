// Tensor maps: the rules of the driver, and boxes against the definition, element by element.
#include "proof/emu/tensor_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/base/half.hpp"
#include "kernels/layout/tensor_map_rules.hpp"

namespace flashfit::testing {
namespace {

using emu::BoxCopy;
using ::testing::HasSubstr;

alignas(1024) std::byte shared_bytes[64 * 1024];

TensorMapSpec matrix(const void* base, SwizzleMode mode = SwizzleMode::kNone) {
  return {.dtype = DType::kF16,
          .rank = 2,
          .base = base,
          .dims = {128, 40},
          .strides = {256},
          .box = {mode == SwizzleMode::kNone ? 64u : static_cast<unsigned>(row_bytes(mode) / 2), 16},
          .swizzle = mode};
}

std::string refusal(const TensorMapSpec& spec) {
  const auto encoded = emu::encode_tensor_map(spec);
  return encoded ? "accepted" : encoded.error().message;
}

TEST(TensorMap, RulesOfTheDriver) {
  const TensorMapSpec sound = matrix(shared_bytes);
  EXPECT_EQ(refusal(sound), "accepted");
  const auto with = [&](auto change) {
    TensorMapSpec spec = sound;
    change(spec);
    return refusal(spec);
  };
  EXPECT_EQ(with([](auto& s) { s.rank = 6; }), "tensor map: rank is 6, not 1 to 5");
  EXPECT_EQ(with([](auto& s) { s.rank = 0; }), "tensor map: rank is 0, not 1 to 5");
  EXPECT_EQ(with([](auto& s) { s.base = nullptr; }), "tensor map: base is null");
  EXPECT_THAT(with([](auto& s) { s.base = shared_bytes + 8; }), HasSubstr("is not a multiple of 16"));
  EXPECT_EQ(with([](auto& s) { s.dims[1] = 0; }), "tensor map: dims[1] is 0, not 1 to 2^32");
  EXPECT_EQ(with([](auto& s) { s.dims[0] = (1ull << 32) + 1; }), "tensor map: dims[0] is 4294967297, not 1 to 2^32");
  EXPECT_EQ(with([](auto& s) { s.box[1] = 257; }), "tensor map: box[1] is 257, not 1 to 256");
  EXPECT_EQ(with([](auto& s) { s.box[1] = 0; }), "tensor map: box[1] is 0, not 1 to 256");
  EXPECT_EQ(with([](auto& s) { s.element_strides[1] = 9; }), "tensor map: element_strides[1] is 9, not 1 to 8");
  EXPECT_THAT(with([](auto& s) { s.element_strides[0] = 2; }), HasSubstr("it must be 1"));
  EXPECT_EQ(with([](auto& s) { s.strides[0] = 264; }),
            "tensor map: strides[0] is 264 bytes, not a multiple of 16 below 2^40");
  EXPECT_THAT(with([](auto& s) { s.strides[0] = 1ull << 40; }), HasSubstr("below 2^40"));
  EXPECT_EQ(with([](auto& s) { s.box[0] = 60; }),
            "tensor map: box[0] is 60 elements of fp16, 120 bytes, not a multiple of 16");
  EXPECT_EQ(with([](auto& s) { s.swizzle = SwizzleMode::k64B; }),
            "tensor map: box[0] is 64 elements of fp16, 128 bytes, more than a 64-byte swizzle has");
  EXPECT_THAT(with([](auto& s) { s.swizzle = SwizzleMode::k128B, s.box[0] = 32; }), HasSubstr("not documented"));
  EXPECT_TRUE(check([&] {
    TensorMapSpec narrow = sound;
    narrow.swizzle = SwizzleMode::k128B, narrow.box[0] = 32;
    return narrow;
  }()))
      << "the driver takes it";
}

TEST(TensorMap, AMapThatWasNeverEncodedIsKnown) {
  EXPECT_FALSE(emu::decode_tensor_map(TensorMap{}));
  const TensorMapSpec spec{.dtype = DType::kBF16,
                           .rank = 4,
                           .base = shared_bytes,
                           .dims = {1ull << 32, 7, 1, 3},
                           .strides = {256, (1ull << 40) - 16, 0},
                           .box = {32, 256, 1, 2},
                           .element_strides = {1, 8, 1, 2, 1},
                           .swizzle = SwizzleMode::k64B,
                           .l2 = L2Promotion::k256B,
                           .fill = OutOfBounds::kNaN};
  const auto back = emu::decode_tensor_map(*emu::encode_tensor_map(spec));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->dtype, spec.dtype);
  EXPECT_EQ(back->base, spec.base);
  EXPECT_EQ(back->fill, spec.fill);
  EXPECT_EQ(back->l2, spec.l2);
  EXPECT_EQ(back->swizzle, spec.swizzle);
  for (int d = 0; d < 4; ++d) {
    EXPECT_EQ(back->dims[d], spec.dims[d]);
    EXPECT_EQ(back->box[d], spec.box[d]);
    EXPECT_EQ(back->element_strides[d], spec.element_strides[d]);
    if (d < 3) {
      EXPECT_EQ(back->strides[d], spec.strides[d]);
    }
  }
  EXPECT_EQ(back->box_bytes(), 32u * 2 * 32 * 1 * 1);
}

/// fp32 of four dimensions, none contiguous with the next, and boxes that leave it on every side.
TEST(TensorMap, BoxesByTheDefinition) {
  constexpr int kDims[4] = {20, 6, 3, 4}, kStrides[4] = {1, 24, 24 * 7 * 4, 24 * 7};
  std::vector<float> tensor(24 * 7 * 4 * 3);
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i] = static_cast<float>(i);
  for (const int step : {1, 2})
    for (const int x : {-5, 0, 14})
      for (const int y : {-3, 0, 4})
        for (const int z : {-1, 2})
          for (const auto fill : {OutOfBounds::kZeros, OutOfBounds::kNaN}) {
            const TensorMapSpec spec{.dtype = DType::kF32,
                                     .rank = 4,
                                     .base = tensor.data(),
                                     .dims = {kDims[0], kDims[1], kDims[2], kDims[3]},
                                     .strides = {kStrides[1] * 4, kStrides[2] * 4, kStrides[3] * 4},
                                     .box = {8, 5, 2, 3},
                                     .element_strides = {1, static_cast<unsigned>(step), 1, 1, 1},
                                     .swizzle = SwizzleMode::k32B,
                                     .fill = fill};
            const auto map = emu::encode_tensor_map(spec);
            ASSERT_TRUE(map) << map.error().message;
            BoxCopy(*emu::decode_tensor_map(*map), {x, y, z, 1}).load(shared_bytes);
            int row = 0;
            for (int l = 0; l < 3; ++l)
              for (int k = 0; k < 2; ++k)
                for (int j = 0; j < 5; j += step, ++row)
                  for (int i = 0; i < 8; ++i) {
                    const int at[4] = {x + i, y + j, z + k, 1 + l};
                    bool inside = true;
                    int offset = 0;
                    for (int d = 0; d < 4; ++d) {
                      inside = inside && at[d] >= 0 && at[d] < kDims[d];
                      offset += at[d] * kStrides[d];
                    }
                    float got;
                    std::memcpy(&got, shared_bytes + (row * 32 + (i / 4 ^ (row / 4 & 1)) * 16 + i % 4 * 4), 4);
                    if (inside)
                      ASSERT_EQ(got, tensor[offset]);
                    else if (fill == OutOfBounds::kZeros)
                      ASSERT_EQ(got, 0.f);
                    else
                      ASSERT_NE(got, got);
                  }
            ASSERT_EQ(static_cast<int>(spec.box_bytes()), row * 32);
          }
}

TEST(TensorMap, StoresClipAndPutBackWhatWasLoaded) {
  for (const auto mode : {SwizzleMode::kNone, SwizzleMode::k32B, SwizzleMode::k64B, SwizzleMode::k128B}) {
    alignas(16) static f16 from[40][128], to[40][128];
    for (int i = 0; i < 40 * 128; ++i) from[i / 128][i % 128].bits = static_cast<unsigned short>(i);
    std::memset(to, 0xff, sizeof to);
    TensorMapSpec spec = matrix(from, mode), into = matrix(to, mode);
    into.dims[0] = 120;
    const int cols = static_cast<int>(spec.box[0]), x = 128 - cols;
    BoxCopy(spec, {x, 28}).load(shared_bytes);
    BoxCopy(into, {x, 28}).store(shared_bytes);
    for (int r = 0; r < 40; ++r)
      for (int c = 0; c < 128; ++c) {
        const bool moved = r >= 28 && c >= x && c < 120;
        ASSERT_EQ(to[r][c].bits, moved ? from[r][c].bits : 0xffff) << name_of(mode) << ' ' << r << ' ' << c;
      }
  }
}

TEST(TensorMap, ReductionsAddInTheTypeOfTheMap) {
  alignas(16) bf16 to[16], part[16];
  for (int i = 0; i < 16; ++i) to[i] = from_float<bf16>(256.f), part[i] = from_float<bf16>(static_cast<float>(i) / 4);
  std::memcpy(shared_bytes, part, sizeof part);
  const TensorMapSpec spec{.dtype = DType::kBF16, .rank = 1, .base = to, .dims = {12}, .strides = {}, .box = {16}};
  BoxCopy(spec, {0}).reduce_add(shared_bytes);
  // Neighbours of 256 are 2 apart.
  for (int i = 0; i < 16; ++i) EXPECT_EQ(to_float(to[i]), i >= 12 ? 256.f : i <= 4 ? 256.f : 258.f) << i;
}

}  // namespace
}  // namespace flashfit::testing
