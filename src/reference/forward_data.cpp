#include "reference/forward_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace flashfit::reference {
namespace {

std::int64_t sum(const std::vector<std::int64_t>& x) { return std::accumulate(x.begin(), x.end(), std::int64_t{0}); }

std::vector<std::int32_t> offsets(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int32_t> all{0};
  for (const std::int64_t n : lengths) all.push_back(all.back() + static_cast<std::int32_t>(n));
  return all;
}

/// Rows of a tensor per batch entry: variable length has one entry of all rows.
std::int64_t rows_of(const ForwardCase& c, const std::vector<std::int64_t>& lengths) {
  if (c.variable_length) return sum(lengths);
  return lengths.empty() ? 0 : lengths[0];
}

/// Of tensors with storage of their own.
struct Layouts {
  Layout q, k, v, out;
};

Layouts layouts_of(Layout layout) {
  if (layout == Layout::kMixed) return {Layout::kBSHD, Layout::kBHSD, Layout::kPadded, Layout::kPadded};
  const bool own = layout == Layout::kBSHD || layout == Layout::kBHSD || layout == Layout::kPadded;
  const Layout all = own ? layout : Layout::kBSHD;
  return {all, all, all, all};
}

void make_packed(ForwardData& data, std::int64_t batch, std::int64_t rows_q, std::int64_t rows_k) {
  const ForwardCase& c = data.spec;
  const std::int64_t rows = std::max(rows_q, rows_k), row = (c.heads_q + 2 * c.heads_kv) * c.head_dim;
  const auto storage = std::make_shared<Storage>(c.dtype, batch * rows * row + 2 * Tensor::kRedZone);
  const auto slice = [&](std::int64_t head, std::int64_t count, std::int64_t heads) {
    return Tensor(storage, Tensor::kRedZone + head * c.head_dim, batch, count, heads, c.head_dim, rows * row, row,
                  c.head_dim);
  };
  data.q = slice(0, rows_q, c.heads_q);
  data.k = slice(c.heads_q, rows_k, c.heads_kv);
  data.v = slice(c.heads_q + c.heads_kv, rows_k, c.heads_kv);
}

Tensor with_head_stride_0(Tensor one_head, std::int64_t heads) {
  one_head.heads = heads;
  one_head.head_stride = 0;
  return one_head;
}

}  // namespace

ForwardData make_data(const ForwardCase& spec) {
  ForwardData data;
  data.spec = spec;
  const auto sequences = static_cast<std::int64_t>(spec.seqlens_q.size());
  const std::int64_t batch = spec.variable_length ? 1 : sequences;
  const std::int64_t rows_q = rows_of(spec, spec.seqlens_q), rows_k = rows_of(spec, spec.seqlens_k);
  const Layouts layouts = layouts_of(spec.layout);
  data.q = Tensor(spec.dtype, layouts.q, batch, rows_q, spec.heads_q, spec.head_dim);
  data.out = Tensor(spec.dtype, layouts.out, batch, rows_q, spec.heads_q, spec.head_dim);
  if (spec.layout == Layout::kPackedQKV) {
    make_packed(data, batch, rows_q, rows_k);
  } else {
    const std::int64_t heads = spec.layout == Layout::kHeadStride0 ? 1 : spec.heads_kv;
    data.k = Tensor(spec.dtype, layouts.k, batch, rows_k, heads, spec.head_dim);
    data.v = Tensor(spec.dtype, layouts.v, batch, rows_k, heads, spec.head_dim);
  }
  Random random(spec.seed);
  data.q.fill_normal(random, spec.q_scale);
  data.k.fill_normal(random);
  data.v.fill_normal(random);
  if (spec.layout == Layout::kHeadStride0) {
    data.k = with_head_stride_0(data.k, spec.heads_kv);
    data.v = with_head_stride_0(data.v, spec.heads_kv);
  }
  if (spec.variable_length) {
    data.cu_seqlens_q = offsets(spec.seqlens_q);
    data.cu_seqlens_k = offsets(spec.seqlens_k);
    for (Tensor* const t : {&data.q, &data.k, &data.v, &data.out}) t->batch_stride = 0;
  }
  data.lse.assign(data.lse_count() + 2 * Tensor::kRedZone, std::numeric_limits<float>::quiet_NaN());
  return data;
}

ForwardProblem ForwardData::problem() const {
  const auto batch = static_cast<std::int64_t>(spec.seqlens_q.size());
  const std::int64_t total_q = sum(spec.seqlens_q), total_k = sum(spec.seqlens_k);
  ForwardProblem p;
  p.dtype = spec.dtype;
  p.head_dim = static_cast<int>(spec.head_dim);
  p.batch = batch;
  p.heads_q = spec.heads_q;
  p.heads_kv = spec.heads_kv;
  p.seqlen_q = spec.variable_length ? (total_q + batch - 1) / batch : rows_of(spec, spec.seqlens_q);
  p.seqlen_k = spec.variable_length ? (total_k + batch - 1) / batch : rows_of(spec, spec.seqlens_k);
  p.total_q = total_q;
  p.total_k = total_k;
  p.causal = spec.causal;
  p.variable_length = spec.variable_length;
  return p;
}

float ForwardData::softmax_scale() const {
  return static_cast<float>(spec.softmax_scale > 0 ? spec.softmax_scale
                                                   : 1 / std::sqrt(static_cast<double>(spec.head_dim)));
}

ForwardCall ForwardData::call() {
  ForwardCall c;
  c.problem = problem();
  c.q = q.view();
  c.k = k.view();
  c.v = v.view();
  c.o = out.view();
  c.lse = lse.data() + Tensor::kRedZone;
  c.cu_seqlens_q = spec.variable_length ? cu_seqlens_q.data() : nullptr;
  c.cu_seqlens_k = spec.variable_length ? cu_seqlens_k.data() : nullptr;
  c.softmax_scale = softmax_scale();
  return c;
}

std::int64_t ForwardData::lse_count() const { return spec.heads_q * sum(spec.seqlens_q); }

float ForwardData::lse_at(std::int64_t sequence, std::int64_t row, std::int64_t head) const {
  const std::int64_t rows = rows_of(spec, spec.seqlens_q);
  const std::int64_t at =
      spec.variable_length ? head * rows + cu_seqlens_q[sequence] + row : (sequence * spec.heads_q + head) * rows + row;
  return lse[Tensor::kRedZone + at];
}

std::string ForwardData::written_outside() const {
  const std::pair<const char*, const Tensor*> tensors[] = {{"q", &q}, {"k", &k}, {"v", &v}, {"out", &out}};
  for (const auto& [name, tensor] : tensors)
    if (const auto at = tensor->written_outside()) return fmt::format("byte {} from the start of {}", *at, name);
  const auto zone = static_cast<std::ptrdiff_t>(Tensor::kRedZone), count = static_cast<std::ptrdiff_t>(lse.size());
  for (std::ptrdiff_t i = 0; i < count; ++i)
    if ((i < zone || i >= count - zone) && !std::isnan(lse[static_cast<std::size_t>(i)]))
      return fmt::format("byte {} from the start of lse", (i - zone) * static_cast<std::ptrdiff_t>(sizeof(float)));
  return {};
}

}  // namespace flashfit::reference
