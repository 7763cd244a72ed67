#include "kernels/moe/experts/wgmma/weight_map.hpp"

#include <algorithm>

namespace flashfit {

Result<void> encode_weights(WgmmaExpertsParams& params, DType dtype, int owned, EncodeTensorMap encode) {
  const ExpertsProductParams& p = params.product;
  // A dimension of one element has no stride: 16 bytes are as good as any that a map takes.
  const auto stride = [&](int n, long long elements) {
    return n <= 1 ? uint64{16} : static_cast<uint64>(elements) * size_of(dtype);
  };
  const int halves = p.paired != 0 ? 2 : 1;
  const Result<TensorMap> map =
      encode({.dtype = dtype,
              .rank = 4,
              .base = p.w,
              .dims = {static_cast<uint64>(p.depth), static_cast<uint64>(p.outputs), static_cast<uint64>(halves),
                       static_cast<uint64>(std::max(owned, 1))},
              .strides = {stride(p.outputs, p.w_row), stride(halves, p.w_up), stride(owned, p.w_expert)},
              .box = {64, 64, 1, 1},
              .swizzle = SwizzleMode::k128B,
              .l2 = L2Promotion::k256B});
  if (!map) return tl::unexpected(map.error());
  params.weights = *map;
  return {};
}

}  // namespace flashfit
