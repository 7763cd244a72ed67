#include "kernels/moe/experts/wgmma/tensor_maps.hpp"

#include <algorithm>

namespace flashfit {

Result<void> encode_maps(WgmmaExpertsParams& params, const ExpertsProductConfig& c, int owned, int64 rows,
                         EncodeTensorMap encode) {
  const ExpertsProductParams& p = params.product;
  const auto stride = [&](int64 n, long long elements) { return map_stride(n, elements, c.dtype); };
  const bool alternates = c.transposed && p.alternates();
  const int halves = p.paired != 0 && !alternates ? 2 : 1;
  const auto depth = static_cast<uint64>(p.depth), outputs = static_cast<uint64>(p.outputs) << int{alternates};
  // The stride is that of the second dimension.
  const uint64 first = c.transposed ? outputs : depth, second = c.transposed ? depth : outputs;
  return encode_all(
      {
          {params.weights,
           {.dtype = c.dtype,
            .rank = 4,
            .base = p.w,
            .dims = {first, second, static_cast<uint64>(halves), static_cast<uint64>(std::max(owned, 1))},
            .strides = {stride(static_cast<int64>(second), p.w_row), stride(halves, p.w_up), stride(owned, p.w_expert)},
            .box = {64, 64, 1, 1},
            .swizzle = SwizzleMode::k128B,
            .l2 = L2Promotion::k256B}},
          {params.rows,
           {.dtype = c.dtype,
            .rank = 2,
            .base = p.a,
            .dims = {depth, static_cast<uint64>(rows)},
            .strides = {stride(rows, p.a_row)},
            .box = {64, kExpertsStep},
            .swizzle = SwizzleMode::k128B,
            .l2 = L2Promotion::k256B}},
      },
      encode);
}

}  // namespace flashfit
