// Products of a warpgroup, without a kernel: what descriptors lead to, and every misuse by its own words.
#include "proof/emu/wgmma.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "core/base/half.hpp"
#include "kernels/layout/fragment.hpp"
#include "kernels/layout/panel_tile.hpp"
#include "proof/emu/shared_memory.hpp"

namespace flashfit::testing {
namespace {

using emu::RegisterArray;
using emu::WgmmaOperands;
using emu::WgmmaRegisters;
using ::testing::HasSubstr;

constexpr int kN = 64;
constexpr uint32 kBase = emu::SharedWindow::kBase;

struct alignas(1024) Shared {
  std::byte bytes[48 * 1024];
};

/// Four warps with accumulators of m64n64 and A registers each.
struct Rig {
  Shared shared{};
  emu::Warpgroup group{{shared.bytes, sizeof shared.bytes}};
  float d[128][kN / 2] = {};
  uint32 a[128][4] = {};

  template <class Call>
  std::string with_registers(int warp, bool name_d, Call call) {
    RegisterArray arrays[32][2];
    WgmmaRegisters lanes[32];
    const WgmmaRegisters* list[32];
    for (int l = 0; l < 32; ++l) {
      arrays[l][0] = {a[warp * 32 + l], sizeof a[0]};
      arrays[l][1] = {d[warp * 32 + l], sizeof d[0]};
      lanes[l] = {arrays[l], name_d ? 2u : 1u};
      list[l] = &lanes[l];
    }
    return call(list);
  }
  std::string fence(int warp) {
    return with_registers(warp, true, [&](auto list) { return group.fence(warp, list); });
  }
  std::string wait(int warp, int pending = 0, bool name_d = true) {
    return with_registers(warp, name_d, [&](auto list) { return group.wait(warp, pending, list, nullptr); });
  }
  std::string issue(int warp, const WgmmaOperands& shared_by_all, emu::Site site = {"kernel.cuh", 7}) {
    WgmmaOperands operands[32];
    const WgmmaOperands* list[32];
    for (int l = 0; l < 32; ++l) {
      operands[l] = shared_by_all;
      operands[l].d = d[warp * 32 + l];
      operands[l].a = a[warp * 32 + l];
      list[l] = &operands[l];
    }
    return group.issue(warp, list, site);
  }
  /// Each warp in turn: fence, one product, commit, wait; the first thing that is wrong.
  std::string run(const WgmmaOperands& operands) {
    std::string wrong;
    for (int warp = 0; warp < 4 && wrong.empty(); ++warp) {
      wrong = fence(warp);
      if (wrong.empty()) wrong = issue(warp, operands);
      group.commit(warp);
      if (wrong.empty()) wrong = wait(warp);
    }
    return wrong;
  }
};

/// Small integers, so that products are exact: element (mn, k) of an operand.
float element(int mn, int k) { return static_cast<float>((mn * 7 + k * 5) % 13 - 6); }

template <class T, SwizzleMode Mode>
void expect_products() {
  // A is m64k32 and B n64k32, each stored both ways; the product is of k = 16 .. 31.
  using KTile = PanelTile<T, 64, 32, Mode == SwizzleMode::k128B ? SwizzleMode::k64B : Mode>;
  using MnTile = PanelTile<T, 32, 64, Mode>;
  for (const Major a_major : {Major::kK, Major::kMN})
    for (const Major b_major : {Major::kK, Major::kMN})
      for (const bool scale_d : {false, true}) {
        const auto rig = std::make_unique<Rig>();
        const auto put = [&](uint32 address, Major major, int salt) {
          auto* const to = reinterpret_cast<T*>(rig->shared.bytes + (address - kBase));
          for (int mn = 0; mn < 64; ++mn)
            for (int k = 0; k < 32; ++k)
              to[major == Major::kK ? KTile::offset(mn, k) : MnTile::offset(k, mn)] =
                  from_float<T>(element(mn + salt, k));
          return encode(major == Major::kK ? KTile::k_major(address, 0, 16) : MnTile::mn_major(address, 16, 0));
        };
        const uint64 a = put(kBase, a_major, 0), b = put(kBase + 8192, b_major, 3);
        for (auto& lane : rig->d)
          for (float& x : lane) x = 100;
        const std::string wrong =
            rig->run({{std::is_same_v<T, f16> ? DType::kF16 : DType::kBF16, kN, a_major, b_major, false},
                      nullptr,
                      nullptr,
                      a,
                      b,
                      scale_d});
        ASSERT_EQ(wrong, "");
        ASSERT_EQ(rig->group.unfinished(), "");
        for (int t = 0; t < 128; ++t)
          for (int i = 0; i < kN / 2; ++i) {
            float want = scale_d ? 100.f : 0.f;
            for (int k = 16; k < 32; ++k)
              want += element(WgmmaAccumulatorMap::row(t, i), k) * element(WgmmaAccumulatorMap::col(t, i) + 3, k);
            ASSERT_EQ(rig->d[t][i], want) << name_of(Mode) << " thread " << t << " register " << i;
          }
      }
}

TEST(Wgmma, ProductsOfSharedOperands) {
  expect_products<f16, SwizzleMode::kNone>();
  expect_products<f16, SwizzleMode::k32B>();
  expect_products<f16, SwizzleMode::k64B>();
  expect_products<bf16, SwizzleMode::k128B>();
}

/// B is the first 16 columns of a K-major tile, A in registers or in the tile after it.
using Tile = PanelTile<f16, 64, 64, SwizzleMode::k128B>;
WgmmaOperands sound(bool a_in_registers = false) {
  return {{DType::kF16, kN, Major::kK, Major::kK, a_in_registers},
          nullptr,
          nullptr,
          a_in_registers ? 0 : encode(Tile::k_major(kBase + 8192, 0, 0)),
          encode(Tile::k_major(kBase, 0, 0)),
          true};
}

TEST(Wgmma, AInRegisters) {
  const auto rig = std::make_unique<Rig>();
  auto* const b = reinterpret_cast<f16*>(rig->shared.bytes);
  for (int n = 0; n < 64; ++n)
    for (int k = 0; k < 16; ++k) b[Tile::offset(n, k)] = from_float<f16>(element(n, k));
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < 4; ++i) {
      const int row = WgmmaAMap::row(t, i);
      rig->a[t][i] = uint32{from_float<f16>(element(row, WgmmaAMap::col(t, i, 0))).bits} |
                     uint32{from_float<f16>(element(row, WgmmaAMap::col(t, i, 1))).bits} << 16;
    }
  ASSERT_EQ(rig->run(sound(true)), "");
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < kN / 2; ++i) {
      float want = 0;
      for (int k = 0; k < 16; ++k)
        want += element(WgmmaAccumulatorMap::row(t, i), k) * element(WgmmaAccumulatorMap::col(t, i), k);
      ASSERT_EQ(rig->d[t][i], want);
    }
}

TEST(Wgmma, DescriptorsAreCheckedByTheirBits) {
  const auto with = [](auto change) {
    WgmmaOperands operands = sound();
    MatrixDescriptor b = decode(operands.b_descriptor);
    change(b, operands.b_descriptor);
    if (operands.b_descriptor == sound().b_descriptor) operands.b_descriptor = encode(b);
    return std::make_unique<Rig>()->run(operands);
  };
  EXPECT_EQ(with([](auto&, auto&) {}), "");
  EXPECT_THAT(with([](auto&, uint64& bits) { bits = 0; }), HasSubstr("B: element (0, 0) lies at byte -1024"));
  EXPECT_THAT(with([](auto&, uint64& bits) { bits |= 1ull << 52; }), HasSubstr("has bits set that must be 0"));
  EXPECT_THAT(with([](auto&, uint64& bits) { bits |= 1ull << 14; }), HasSubstr("has bits set that must be 0"));
  EXPECT_THAT(with([](auto& d, auto&) { d.address += 384; }), HasSubstr("3 lines into the pattern of its 128-byte"));
  EXPECT_EQ(with([](auto& d, auto&) { d.address += 384, d.base_offset = (d.address >> 7) & 7; }), "");
  EXPECT_THAT(with([](auto& d, auto&) { d.base_offset = 1; }), HasSubstr("base offset is 1"));
  EXPECT_THAT(with([](auto& d, auto&) { d.address += 42 * 1024; }), HasSubstr("of a shared memory of 49152"));
  EXPECT_THAT(with([](auto& d, auto&) { d.stride_bytes = 8192; }), HasSubstr("of a shared memory of 49152"));
}

TEST(Wgmma, RegistersNeedTheirFence) {
  const auto rig = std::make_unique<Rig>();
  EXPECT_EQ(rig->issue(0, sound()), "no wgmma_fence before the first wgmma");
  ASSERT_EQ(rig->fence(0), "");
  rig->d[5][3] = 1;
  EXPECT_THAT(rig->issue(0, sound()), HasSubstr("accumulators were written after the last wgmma_fence"));
  const auto other = std::make_unique<Rig>();
  ASSERT_EQ(other->fence(0), "");
  other->a[31][3] = 1;
  EXPECT_THAT(other->issue(0, sound(true)), HasSubstr("registers of A were written after the last wgmma_fence"));
  const auto unnamed = std::make_unique<Rig>();
  ASSERT_EQ(unnamed->with_registers(0, false, [&](auto list) { return unnamed->group.fence(0, list); }), "");
  EXPECT_EQ(unnamed->issue(0, sound()), "no wgmma_fence names the accumulators");
}

TEST(Wgmma, AccumulatorsArePoisonUntilTheWaitOfTheirGroup) {
  const auto rig = std::make_unique<Rig>();
  const auto poisoned = [&] {
    float poison = 0;
    emu::SharedMemory::poison(reinterpret_cast<std::byte*>(&poison), sizeof poison);
    return std::all_of(std::begin(rig->d[7]), std::end(rig->d[7]), [&](float x) {
      return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(poison);
    });
  };
  ASSERT_EQ(rig->fence(0), "");
  ASSERT_EQ(rig->issue(0, sound()), "");
  EXPECT_TRUE(poisoned());
  ASSERT_EQ(rig->issue(0, sound()), "") << "a chain on the same accumulators needs no fence";
  rig->group.commit(0);
  rig->group.commit(0);  // an empty group
  EXPECT_THAT(rig->fence(0), HasSubstr("that a product in flight writes"));
  ASSERT_EQ(rig->wait(0, 2), "wgmma_wait names accumulators that a group still in flight writes");
  ASSERT_EQ(rig->wait(0, 2, false), "");
  EXPECT_TRUE(poisoned());
  ASSERT_EQ(rig->wait(0, 1), "");
  EXPECT_FALSE(poisoned());
  ASSERT_EQ(rig->issue(0, sound()), "") << "results that nobody touched need no fence";
}

TEST(Wgmma, WhatChangesBeforeTheWait) {
  const auto after_issue = [](bool a_in_registers, auto change) {
    const auto rig = std::make_unique<Rig>();
    std::string wrong = rig->fence(1);
    if (wrong.empty()) wrong = rig->issue(1, sound(a_in_registers));
    rig->group.commit(1);
    change(*rig);
    return wrong.empty() ? rig->wait(1) : wrong;
  };
  EXPECT_EQ(after_issue(true, [](Rig&) {}), "");
  EXPECT_EQ(after_issue(false, [](Rig& r) { r.shared.bytes[8192 + 16 * 128] = std::byte{1}; }),
            "A of the wgmma at kernel.cuh:7 changed in shared memory between its issue and this wait");
  EXPECT_EQ(after_issue(false, [](Rig& r) { r.shared.bytes[8192] = std::byte{1}; }), "") << "a row of another warp";
  EXPECT_THAT(after_issue(true, [](Rig& r) { r.shared.bytes[63 * 128 + (7 * 16)] = std::byte{1}; }), HasSubstr("B of"));
  EXPECT_EQ(after_issue(true, [](Rig& r) { r.shared.bytes[32] = std::byte{1}; }), "") << "another step of k";
  EXPECT_THAT(after_issue(true, [](Rig& r) { r.a[63][0] = 1; }), HasSubstr("registers of A of the wgmma at kernel"));
  EXPECT_THAT(after_issue(true, [](Rig& r) { r.d[40][31] = 0; }), HasSubstr("were touched, or left their scope"));
}

TEST(Wgmma, AWaitNamesWhatItOrders) {
  const auto rig = std::make_unique<Rig>();
  ASSERT_EQ(rig->fence(0), "");
  ASSERT_EQ(rig->issue(0, sound()), "");
  rig->group.commit(0);
  EXPECT_THAT(rig->wait(0, 0, false), HasSubstr("does not name the accumulators of the wgmma at kernel.cuh:7"));
}

TEST(Wgmma, WarpsIssueTheSame) {
  const auto rig = std::make_unique<Rig>();
  ASSERT_EQ(rig->fence(0), "");
  ASSERT_EQ(rig->fence(1), "");
  ASSERT_EQ(rig->issue(0, sound()), "");
  EXPECT_THAT(rig->issue(1, sound(), {"kernel.cuh", 8}), HasSubstr("another warp of the warpgroup issued"));
  WgmmaOperands other = sound();
  other.scale_d = false;
  EXPECT_THAT(rig->issue(1, other), HasSubstr("another warp of the warpgroup issued"));
  EXPECT_EQ(rig->issue(1, sound()), "");
}

TEST(Wgmma, WhatABlockLeavesBehind) {
  const auto rig = std::make_unique<Rig>();
  EXPECT_EQ(rig->group.unfinished(), "");
  ASSERT_EQ(rig->fence(0), "");
  ASSERT_EQ(rig->issue(0, sound()), "");
  EXPECT_EQ(rig->group.unfinished(), "the wgmma at kernel.cuh:7 was never committed");
  rig->group.commit(0);
  EXPECT_EQ(rig->group.unfinished(), "the wgmma at kernel.cuh:7 was never waited for");
  ASSERT_EQ(rig->wait(0), "");
  EXPECT_EQ(rig->group.unfinished(), "warp 1 of a warpgroup never issued the wgmma at kernel.cuh:7");
}

}  // namespace
}  // namespace flashfit::testing
