#include "kernels/attention/forward/wgmma/tensor_maps.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/attention/forward/variants.hpp"
#include "kernels/attention/forward/wgmma/heads/config.hpp"

namespace flashfit {
namespace {

/// Columns, rows, heads, sequences; a box is one panel wide.
TensorMapSpec spec_of(const TensorView& t, DType dtype, int columns, std::int64_t rows, std::int64_t heads,
                      std::int64_t sequences, int box_rows, SwizzleMode mode) {
  const auto dim = [](std::int64_t n) { return static_cast<uint64>(std::max<std::int64_t>(n, 1)); };
  return {.dtype = dtype,
          .rank = 4,
          .base = t.data,
          .dims = {dim(columns), dim(rows), dim(heads), dim(sequences)},
          .strides = {map_stride(rows, t.row_stride, dtype), map_stride(heads, t.head_stride, dtype),
                      map_stride(sequences, t.batch_stride, dtype)},
          .box = {static_cast<uint32>(row_bytes(mode) / size_of(dtype)), static_cast<uint32>(box_rows), 1, 1},
          .swizzle = mode,
          .l2 = L2Promotion::k256B};
}

/// Q's where heads are packed: a box has the queries of a tile, of each those of all heads of a group.
TensorMapSpec spec_of_packed(const ForwardConfig& c, const ForwardProblem& p, const TensorView& q, std::int64_t rows,
                             std::int64_t sequences) {
  TensorMapSpec spec =
      spec_of(q, p.dtype, p.head_dim, rows, p.heads_q, sequences, c.block_m, panel_mode(tile_columns(c.head_dim)));
  std::swap(spec.dims[1], spec.dims[2]);
  std::swap(spec.strides[0], spec.strides[1]);
  const auto pack = static_cast<uint32>(packed_heads(c, p));
  spec.box[1] = pack;
  spec.box[2] = static_cast<uint32>(c.block_m) / pack;
  return spec;
}

/// Where a tensor's heads begin, if tiles of `most` columns have room for those before a head, and if all its rows and
/// sequences begin alike: else bits would depend on which of a batch's sequences one is.
HeadStart head_start(const TensorView& t, DType dtype, int columns, int most) {
  const auto is_odd = [&](std::int64_t elements) { return static_cast<int>(elements * size_of(dtype) / 16 & 1); };
  if (columns + kColumnsBetweenSectors > most || is_odd(t.row_stride) || is_odd(t.batch_stride)) return {};
  return {static_cast<int>(reinterpret_cast<std::uintptr_t>(t.data) / 16 & 1), is_odd(t.head_stride)};
}

}  // namespace

Result<void> encode_maps(WgmmaForwardParams& params, const ForwardConfig& c, const ForwardCall& call,
                         EncodeTensorMap encode) {
  const ForwardProblem& p = call.problem;
  const std::int64_t sequences = p.variable_length ? 1 : p.batch;
  const std::int64_t rows_q = p.variable_length ? p.total_q : p.seqlen_q;
  const std::int64_t rows_k = p.variable_length ? p.total_k : p.seqlen_k;
  const int q_rows = takes_heads(c) ? kWarpRows : c.block_m;
  // Without keys there may be no K and V; their maps are not used then.
  const TensorView &k = rows_k == 0 ? call.q : call.k, &v = rows_k == 0 ? call.q : call.v;
  const HeadStart of_k = head_start(k, p.dtype, p.head_dim, c.head_dim);
  const HeadStart of_v = head_start(v, p.dtype, p.head_dim_v, c.head_dim_v);
  params.start = of_k == of_v && copies_from_sectors(c) ? of_k : HeadStart{};
  return encode_all(
      {
          {params.q, c.packs ? spec_of_packed(c, p, call.q, rows_q, sequences)
                             : spec_of(call.q, p.dtype, p.head_dim, rows_q, p.heads_q, sequences, q_rows,
                                       panel_mode(tile_columns(c.head_dim)))},
          {params.k, spec_of(k, p.dtype, p.head_dim, rows_k, p.heads_kv, sequences, c.block_n,
                             panel_mode(tile_columns(c.head_dim)))},
          {params.v, spec_of(v, p.dtype, p.head_dim_v, rows_k, p.heads_kv, sequences, c.block_n,
                             panel_mode(tile_columns(c.head_dim_v)))},
      },
      encode);
}

}  // namespace flashfit
