#include "proof/reference/forward_data.hpp"

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

/// What the case plants in the first columns, and what it does to v.
void plant(ForwardData& data) {
  if (!data.spec.planted.any()) return;
  const PlantedColumns columns = planted_columns(data.spec.planted, data.softmax_scale());
  int index = 0;
  for (Tensor* const t : {&data.q, &data.k, &data.v}) {
    for (std::int64_t b = 0; b < t->batch; ++b) {
      for (std::int64_t r = 0; r < t->rows; ++r) {
        for (std::int64_t h = 0; h < t->heads; ++h) {
          for (std::int64_t d = 0; d < (index == 2 ? t->dim : std::int64_t{data.spec.planted.columns()}); ++d)
            t->set(b, r, h, d, planted(columns, index, static_cast<float>(t->get(b, r, h, d)), r, t->rows, d));
        }
      }
    }
    ++index;
  }
}

/// Rows of a tensor per batch entry: variable length has one entry of all rows, those that are spare included.
std::int64_t rows_of(const ForwardCase& c, const std::vector<std::int64_t>& lengths) {
  if (c.variable_length) return sum(lengths) + c.spare_rows;
  return lengths.empty() ? 0 : lengths[0];
}

/// Of tensors with storage of their own.
struct Layouts {
  Layout q, k, v, out;
};

Layouts layouts_of(Layout layout) {
  if (layout == Layout::kMixed) return {Layout::kBSHD, Layout::kBHSD, Layout::kPadded, Layout::kPadded};
  const bool own =
      layout == Layout::kBSHD || layout == Layout::kBHSD || layout == Layout::kPadded || layout == Layout::kUnaligned;
  const Layout all = own ? layout : Layout::kBSHD;
  return {all, all, all, all};
}

void make_packed(ForwardData& data, std::int64_t batch, std::int64_t rows_q, std::int64_t rows_k) {
  const ForwardCase& c = data.spec;
  const std::int64_t rows = std::max(rows_q, rows_k),
                     row = (c.heads_q + c.heads_kv) * c.head_dim + c.heads_kv * c.dim_v();
  const auto storage = std::make_shared<Storage>(c.dtype, batch * rows * row + 2 * Tensor::kRedZone);
  const auto slice = [&](std::int64_t head, std::int64_t count, std::int64_t heads, std::int64_t dim) {
    return Tensor(storage, Tensor::kRedZone + head * c.head_dim, batch, count, heads, dim, rows * row, row, dim);
  };
  data.q = slice(0, rows_q, c.heads_q, c.head_dim);
  data.k = slice(c.heads_q, rows_k, c.heads_kv, c.head_dim);
  data.v = slice(c.heads_q + c.heads_kv, rows_k, c.heads_kv, c.dim_v());
}

Tensor with_head_stride_0(Tensor one_head, std::int64_t heads) {
  one_head.heads = heads;
  one_head.head_stride = 0;
  return one_head;
}

/// As the C API finds it of tensors on a GPU, where memory lies as here.
bool is_unaligned(const Tensor& t) {
  if (t.storage == nullptr) return false;  // a shape without memory
  const std::int64_t elements = 16 / size_of(t.storage->dtype);
  bool odd = t.origin % elements != 0;
  const std::pair<std::int64_t, std::int64_t> steps[] = {
      {t.batch, t.batch_stride}, {t.rows, t.row_stride}, {t.heads, t.head_stride}};
  for (const auto& [size, stride] : steps) odd |= size > 1 && stride % elements != 0;
  return odd;
}

/// Whether rows of k and v may be seen by no query at all.
bool hides_keys(const ForwardCase& c) {
  const OptionCase& o = c.options;
  return o.window_left >= 0 || o.window_right >= 0 || o.bias.kind != BiasKind::kNone || !o.seqused_k.empty();
}

/// Makes NaN of all keys and values that no query sees: not even times 0 may they reach a result.
void poison_hidden(ForwardData& data) {
  const ForwardCase& c = data.spec;
  const Problem p = data.reference_problem();
  const std::int64_t group = c.heads_q / c.heads_kv;
  const bool one_head = c.layout == Layout::kHeadStride0;
  const auto is_seen = [&](std::int64_t b, std::int64_t kv_head, std::int64_t j) {
    const std::int64_t first = one_head ? 0 : kv_head * group, last = one_head ? c.heads_q : first + group;
    for (std::int64_t h = first; h < last; ++h) {
      for (std::int64_t i = 0; i < c.seqlens_q[b]; ++i)
        if (sees(p, b, h, i, j)) return true;
    }
    return false;
  };
  for (std::int64_t b = 0; b < std::ssize(c.seqlens_k); ++b) {
    for (std::int64_t h = 0; h < (one_head ? 1 : c.heads_kv); ++h) {
      for (std::int64_t j = 0; j < c.seqlens_k[b]; ++j) {
        if (is_seen(b, h, j)) continue;
        const std::int64_t batch = c.variable_length ? 0 : b, row = p.sequences[b].k_row + j;
        for (std::int64_t d = 0; d < c.head_dim; ++d) data.k.set(batch, row, h, d, NAN);
        for (std::int64_t d = 0; d < c.dim_v(); ++d) data.v.set(batch, row, h, d, NAN);
      }
    }
  }
}

/// Rows that are nobody's: NaN, which must reach no result.
void poison_spare(ForwardData& data) {
  for (Tensor* const t : {&data.q, &data.k, &data.v})
    for (std::int64_t r = t->rows - data.spec.spare_rows; r < t->rows; ++r)
      for (std::int64_t h = 0; h < t->heads; ++h)
        for (std::int64_t d = 0; d < t->dim; ++d) t->set(0, r, h, d, NAN);
}

/// The tensors of a case before they are filled.
ForwardData allocated(const ForwardCase& spec) {
  ForwardData data;
  data.spec = spec;
  const std::int64_t batch = spec.variable_length ? 1 : std::ssize(spec.seqlens_q);
  const std::int64_t rows_q = rows_of(spec, spec.seqlens_q), rows_k = rows_of(spec, spec.seqlens_k);
  const Layouts layouts = layouts_of(spec.layout);
  data.q = Tensor(spec.dtype, layouts.q, batch, rows_q, spec.heads_q, spec.head_dim);
  data.out = Tensor(spec.dtype, layouts.out, batch, rows_q, spec.heads_q, spec.dim_v());
  if (spec.layout == Layout::kPackedQKV) {
    make_packed(data, batch, rows_q, rows_k);
  } else {
    const std::int64_t heads = spec.layout == Layout::kHeadStride0 ? 1 : spec.heads_kv;
    data.k = Tensor(spec.dtype, layouts.k, batch, rows_k, heads, spec.head_dim);
    data.v = Tensor(spec.dtype, layouts.v, batch, rows_k, heads, spec.dim_v());
  }
  return data;
}

/// The strides that kernels get.
void set_strides(ForwardData& data) {
  if (data.spec.layout == Layout::kHeadStride0) {
    data.k = with_head_stride_0(data.k, data.spec.heads_kv);
    data.v = with_head_stride_0(data.v, data.spec.heads_kv);
  }
  if (data.spec.variable_length)
    for (Tensor* const t : {&data.q, &data.k, &data.v, &data.out}) t->batch_stride = 0;
}

}  // namespace

ForwardData make_data(const ForwardCase& spec) {
  ForwardData data = allocated(spec);
  Random random(spec.seed);
  data.q.fill_normal(random, spec.q_scale);
  data.k.fill_normal(random, spec.k_scale);
  data.v.fill_normal(random, spec.v_scale);
  plant(data);
  set_strides(data);
  if (spec.variable_length) {
    data.cu_seqlens_q = offsets(spec.seqlens_q);
    data.cu_seqlens_k = offsets(spec.seqlens_k);
  }
  const std::int64_t sequences = std::ssize(spec.seqlens_q);
  const std::int64_t rows_q = rows_of(spec, spec.seqlens_q), rows_k = rows_of(spec, spec.seqlens_k);
  data.options = make_option_data(spec.options, {spec.dtype, sequences, spec.heads_q, rows_q, rows_k}, spec.seed);
  if (hides_keys(spec)) poison_hidden(data);
  if (spec.variable_length && spec.spare_rows > 0) poison_spare(data);
  data.lse.assign(data.lse_count() + 2 * Tensor::kRedZone, std::numeric_limits<float>::quiet_NaN());
  return data;
}

ForwardProblem problem_of(const ForwardCase& spec) {
  ForwardData data = allocated(spec);
  set_strides(data);
  return data.problem();
}

ForwardProblem ForwardData::problem() const {
  const auto batch = static_cast<std::int64_t>(spec.seqlens_q.size());
  const std::int64_t spare = spec.variable_length ? spec.spare_rows : 0;
  const std::int64_t total_q = sum(spec.seqlens_q) + spare, total_k = sum(spec.seqlens_k) + spare;
  ForwardProblem p;
  p.dtype = spec.dtype;
  p.head_dim = static_cast<int>(spec.head_dim);
  p.head_dim_v = static_cast<int>(spec.dim_v());
  p.batch = batch;
  p.heads_q = spec.heads_q;
  p.heads_kv = spec.heads_kv;
  p.seqlen_q = spec.variable_length ? (total_q + batch - 1) / batch : rows_of(spec, spec.seqlens_q);
  p.seqlen_k = spec.variable_length ? (total_k + batch - 1) / batch : rows_of(spec, spec.seqlens_k);
  p.total_q = total_q;
  p.total_k = total_k;
  p.causal = spec.causal;
  p.variable_length = spec.variable_length;
  p.unaligned = is_unaligned(q) || is_unaligned(k) || is_unaligned(v) || is_unaligned(out);
  set_options(p, spec.options);
  return p;
}

Problem ForwardData::reference_problem() const {
  const ForwardCase& c = spec;
  Problem p{c.dtype, c.heads_q, c.heads_kv, c.head_dim, c.causal, softmax_scale(), {}, c.dim_v()};
  for (std::size_t b = 0; b < c.seqlens_q.size(); ++b) {
    const std::int64_t q_row = c.variable_length ? cu_seqlens_q[b] : 0, k_row = c.variable_length ? cu_seqlens_k[b] : 0;
    p.sequences.push_back(
        {q_row, k_row, c.seqlens_q[b], c.options.seqused_k.empty() ? c.seqlens_k[b] : c.options.seqused_k[b]});
  }
  set_options(p, c.options, options);
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
  set_options(c, spec.options, options);
  c.problem.bias_by_element = bias_by_element(c);
  return c;
}

std::int64_t ForwardData::lse_count() const { return problem().total_q * spec.heads_q; }

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
  for (std::int64_t r = out.rows - (spec.variable_length ? spec.spare_rows : 0); r < out.rows; ++r) {
    for (std::int64_t h = 0; h < out.heads; ++h) {
      for (std::int64_t d = 0; d < out.dim; ++d)
        if (!out.is_poison(0, r, h, d)) return fmt::format("row {} of out, after the last sequence", r);
      if (!std::isnan(lse[Tensor::kRedZone + h * out.rows + r]))
        return fmt::format("row {} of lse, after the last sequence", r);
    }
  }
  const auto zone = static_cast<std::ptrdiff_t>(Tensor::kRedZone), count = static_cast<std::ptrdiff_t>(lse.size());
  for (std::ptrdiff_t i = 0; i < count; ++i)
    if ((i < zone || i >= count - zone) && !std::isnan(lse[static_cast<std::size_t>(i)]))
      return fmt::format("byte {} from the start of lse", (i - zone) * static_cast<std::ptrdiff_t>(sizeof(float)));
  return {};
}

}  // namespace flashfit::reference
