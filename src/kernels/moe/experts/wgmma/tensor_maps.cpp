#include "kernels/moe/experts/wgmma/tensor_maps.hpp"

#include <algorithm>

namespace flashfit {
namespace {

/// Of two runs of 64 outputs for each warpgroup: gate and up are a dimension of their own.
TensorMapSpec map_of_halves(const ExpertsProductParams& p, const ExpertsProductConfig& c, int owned) {
  const auto stride = [&](int64 n, long long elements) { return map_stride(n, elements, c.dtype); };
  const bool alternates = c.transposed && p.alternates();
  const int halves = p.paired != 0 && !alternates ? 2 : 1;
  const auto depth = static_cast<uint64>(p.depth), outputs = static_cast<uint64>(p.outputs) << int{alternates};
  // The stride is that of the second dimension.
  const uint64 first = c.transposed ? outputs : depth, second = c.transposed ? depth : outputs;
  return {.dtype = c.dtype,
          .rank = 4,
          .base = p.w,
          .dims = {first, second, static_cast<uint64>(halves), static_cast<uint64>(std::max(owned, 1))},
          .strides = {stride(static_cast<int64>(second), p.w_row), stride(halves, p.w_up), stride(owned, p.w_expert)},
          .box = {64, 64, 1, 1},
          .swizzle = SwizzleMode::k128B,
          .l2 = L2Promotion::k256B};
}

/// Of one run for each warpgroup: where gate and up are paired, its box has 8 rows of gate, those of up, the next 8 of
/// gate, ...: a thread has the same of both in wgmma's accumulators.
TensorMapSpec map_of_runs(const ExpertsProductParams& p, const ExpertsProductConfig& c, int owned) {
  const auto stride = [&](int64 n, long long elements) { return map_stride(n, elements, c.dtype); };
  const bool paired = p.paired != 0;
  const int each = paired ? 8 : p.outputs, halves = paired ? 2 : 1, parts = paired ? p.outputs / 8 : 1;
  return {
      .dtype = c.dtype,
      .rank = 5,
      .base = p.w,
      .dims = {static_cast<uint64>(p.depth), static_cast<uint64>(each), static_cast<uint64>(halves),
               static_cast<uint64>(parts), static_cast<uint64>(std::max(owned, 1))},
      .strides = {stride(each, p.w_row), stride(halves, p.w_up), stride(parts, 8 * p.w_row), stride(owned, p.w_expert)},
      .box = {64, paired ? 8u : 64u, paired ? 2u : 1u, paired ? 4u : 1u, 1},
      .swizzle = SwizzleMode::k128B,
      .l2 = L2Promotion::k256B};
}

}  // namespace

Result<void> encode_maps(WgmmaExpertsParams& params, const ExpertsProductConfig& c, int owned, int64 rows,
                         EncodeTensorMap encode) {
  const ExpertsProductParams& p = params.product;
  const TensorMapSpec weights =
      experts_runs(c) == 1 && !c.transposed ? map_of_runs(p, c, owned) : map_of_halves(p, c, owned);
  if (params.gathers != 0) return encode_all({{params.weights, weights}}, encode);
  return encode_all(
      {
          {params.weights, weights},
          {params.rows,
           {.dtype = c.dtype,
            .rank = 2,
            .base = p.a,
            .dims = {static_cast<uint64>(p.depth), static_cast<uint64>(rows)},
            .strides = {map_stride(rows, p.a_row, c.dtype)},
            .box = {64, kExpertsStep},
            .swizzle = SwizzleMode::k128B,
            .l2 = L2Promotion::k256B}},
      },
      encode);
}

}  // namespace flashfit
