// Which heads a kernel over wgmma is told to copy from a sector's start on.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/attention/forward/plan/problems.hpp"
#include "kernels/attention/forward/variants.hpp"
#include "kernels/attention/forward/wgmma/tensor_maps.hpp"

namespace flashfit {
namespace {

constexpr std::int64_t kHeads = 4, kRows = 100;

Result<TensorMap> encode(const TensorMapSpec&) { return TensorMap{}; }

/// Of k and v, contiguous from `address` on but for what `change` does to the view.
template <class Change>
WgmmaForwardParams encoded(int head_dim, std::uintptr_t address, Change change) {
  TensorView view{reinterpret_cast<void*>(address), kRows * kHeads * head_dim, kHeads * head_dim, head_dim};
  change(view);
  const ForwardCall call{.problem = test::dense({.head_dim = head_dim, .batch = 2, .heads = kHeads, .queries = kRows}),
                         .q = view,
                         .k = view,
                         .v = view};
  WgmmaForwardParams params{};
  const ForwardVariant* const variant = find_forward_variant("fwd_wgmma_fp16_d96_192x96_w12_s2_b1");
  EXPECT_TRUE(encode_maps(params, variant->config, call, encode));
  return params;
}
WgmmaForwardParams encoded(int head_dim, std::uintptr_t address = 4096) {
  return encoded(head_dim, address, [](TensorView&) {});
}

void expect_columns(const WgmmaForwardParams& params, const std::vector<int>& of_heads) {
  for (int head = 0; head < int(of_heads.size()); ++head) {
    EXPECT_EQ(params.k_start.columns_before(head), of_heads[head]) << head;
    EXPECT_EQ(params.v_start.columns_before(head), of_heads[head]) << head;
  }
}

TEST(HeadStart, EverySecondHeadOf72ColumnsBeginsBetweenSectors) {
  expect_columns(encoded(72), {0, 8, 0, 8});
  expect_columns(encoded(88, 4096 + 16), {8, 0, 8, 0});
}

TEST(HeadStart, HeadsOfWholeSectorsBeginAsTheTensorDoes) {
  expect_columns(encoded(80), {0, 0, 0, 0});
  expect_columns(encoded(80, 4096 + 16), {8, 8, 8, 8});
}

TEST(HeadStart, ATileNeedsRoomForTheColumnsBefore) { expect_columns(encoded(96, 4096 + 16), {0, 0, 0, 0}); }

TEST(HeadStart, RowsAndSequencesMustBeginAlike) {
  expect_columns(encoded(72, 4096, [](TensorView& view) { view.row_stride += 8; }), {0, 0, 0, 0});
  expect_columns(encoded(72, 4096, [](TensorView& view) { view.batch_stride += 8; }), {0, 0, 0, 0});
}

}  // namespace
}  // namespace flashfit
