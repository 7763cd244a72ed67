#include "kernels/moe/experts/wgmma/tensor_maps.hpp"

#include <algorithm>

namespace flashfit {

Result<void> encode_maps(WgmmaExpertsParams& params, const ExpertsProductConfig& c, int owned, int64 rows,
                         EncodeTensorMap encode) {
  const ExpertsProductParams& p = params.product;
  // A dimension of one element has no stride: 16 bytes are as good as any that a map takes.
  const auto stride = [&](int64 n, long long elements) {
    return n <= 1 ? uint64{16} : static_cast<uint64>(elements) * size_of(c.dtype);
  };
  const int halves = p.paired != 0 ? 2 : 1;
  const auto depth = static_cast<uint64>(p.depth);
  const auto box = static_cast<uint32>(c.depth);
  const struct {
    TensorMap& to;
    TensorMapSpec spec;
  } maps[] = {
      {params.weights,
       {.dtype = c.dtype,
        .rank = 4,
        .base = p.w,
        .dims = {depth, static_cast<uint64>(p.outputs), static_cast<uint64>(halves),
                 static_cast<uint64>(std::max(owned, 1))},
        .strides = {stride(p.outputs, p.w_row), stride(halves, p.w_up), stride(owned, p.w_expert)},
        .box = {box, 64, 1, 1},
        .swizzle = experts_swizzle(c),
        .l2 = L2Promotion::k256B}},
      {params.rows,
       {.dtype = c.dtype,
        .rank = 2,
        .base = p.a,
        .dims = {depth, static_cast<uint64>(rows)},
        .strides = {stride(rows, p.a_row)},
        .box = {box, kExpertsStep},
        .swizzle = experts_swizzle(c),
        .l2 = L2Promotion::k256B}},
  };
  for (const auto& [to, spec] : maps) {
    const Result<TensorMap> map = encode(spec);
    if (!map) return tl::unexpected(map.error());
    to = *map;
  }
  return {};
}

}  // namespace flashfit
