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
const std::string kNarrow = "fwd_wgmma_fp16_d96_192x96_w12_s2_b1";

Result<TensorMap> encode(const TensorMapSpec&) { return TensorMap{}; }

/// Of k and v, contiguous from `address` on but for what `change` does to both and `change_v` to v.
template <class Change, class ChangeV>
WgmmaForwardParams encoded(int head_dim, std::uintptr_t address, Change change, ChangeV change_v,
                           const std::string& name = kNarrow) {
  TensorView view{reinterpret_cast<void*>(address), kRows * kHeads * head_dim, kHeads * head_dim, head_dim};
  change(view);
  TensorView v = view;
  change_v(v);
  const ForwardCall call{.problem = test::dense({.head_dim = head_dim, .batch = 2, .heads = kHeads, .queries = kRows}),
                         .q = view,
                         .k = view,
                         .v = v};
  WgmmaForwardParams params{};
  const ForwardVariant* const variant = find_forward_variant(name);
  EXPECT_TRUE(encode_maps(params, variant->config, call, encode));
  return params;
}
void stay(TensorView&) {}
WgmmaForwardParams encoded(int head_dim, std::uintptr_t address = 4096, const std::string& name = kNarrow) {
  return encoded(head_dim, address, stay, stay, name);
}

void expect_between(const WgmmaForwardParams& params, const std::vector<bool>& heads) {
  for (int head = 0; head < int(heads.size()); ++head) EXPECT_EQ(params.start.is_between(head), heads[head]) << head;
}

TEST(HeadStart, EverySecondHeadOf72ColumnsBeginsBetweenSectors) {
  expect_between(encoded(72), {false, true, false, true});
  expect_between(encoded(88, 4096 + 16), {true, false, true, false});
}

TEST(HeadStart, HeadsOfWholeSectorsBeginAsTheTensorDoes) {
  expect_between(encoded(80), {false, false, false, false});
  expect_between(encoded(80, 4096 + 16), {true, true, true, true});
}

TEST(HeadStart, ATileNeedsRoomForTheColumnsBefore) {
  expect_between(encoded(96, 4096 + 16), {false, false, false, false});
}

TEST(HeadStart, KAndVMustBeginAlike) {
  const auto between = [](TensorView& view) { view.data = static_cast<char*>(view.data) + 16; };
  expect_between(encoded(72, 4096, stay, between), {false, false, false, false});
  expect_between(encoded(72, 4096, between, stay), {true, false, true, false});  // both
}

TEST(HeadStart, SomeVariantsAloneCopyFromTheSectorsStart) {
  const std::vector<bool> none = {false, false, false, false}, every_second = {false, true, false, true};
  expect_between(encoded(136, 4096, "fwd_wgmma_fp16_d192_128x96_w8_s2_b1"), none);
  expect_between(encoded(136, 4096, "fwd_wgmma_fp16_d160_128x112_w8_s2_b1"), every_second);
  expect_between(encoded(104, 4096, "fwd_wgmma_fp16_d128_128x128_w8_s2_b1"), none);
  expect_between(encoded(104, 4096, "fwd_wgmma_fp16_d128_192x80_w12_s2_b1"), every_second);
}

TEST(HeadStart, ColumnsThatProductsDoNotTakeAreNoRoom) {
  const std::string wide = "fwd_wgmma_fp16_d160_128x112_w8_s2_b1";  // its tiles have 192
  expect_between(encoded(152, 4096 + 16, wide), {true, false, true, false});
  expect_between(encoded(160, 4096 + 16, wide), {false, false, false, false});
}

TEST(HeadStart, RowsAndSequencesMustBeginAlike) {
  expect_between(encoded(72, 4096, [](TensorView& view) { view.row_stride += 8; }, stay), {false, false, false, false});
  expect_between(
      encoded(72, 4096, [](TensorView& view) { view.batch_stride += 8; }, stay), {false, false, false, false});
}

}  // namespace
}  // namespace flashfit
