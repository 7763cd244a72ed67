#include "bench/call.hpp"

#include <numeric>
#include <vector>

namespace flashfit::bench {
namespace {

DLDataType dl_type(DType dtype) {
  if (dtype == DType::kBF16) return {kDLBfloat, 16, 1};
  return {kDLFloat, static_cast<std::uint8_t>(8 * size_of(dtype)), 1};
}

Result<void> status_of(flashfit_status status) {
  if (status == FLASHFIT_OK) return {};
  return fail(status == FLASHFIT_MISFIT ? Code::kMisfit : Code::kInternal, flashfit_last_error());
}

DLTensor tensor(void* data, DLDevice device, DLDataType type, int dims, std::int64_t* shape, std::int64_t* strides) {
  return {.data = data,
          .device = device,
          .ndim = dims,
          .dtype = type,
          .shape = shape,
          .strides = strides,
          .byte_offset = 0};
}

}  // namespace

void Call::point(Tensor& t, const Place& p, std::byte* memory, DLDevice device, const Case& c) {
  if (c.variable_length) {
    t.shape = {p.rows, p.heads, p.dim};
    t.strides = {p.row_stride, p.head_stride, 1};
  } else {
    t.shape = {p.batch, p.rows, p.heads, p.dim};
    t.strides = {p.batch_stride, p.row_stride, p.head_stride, 1};
  }
  t.dl =
      tensor(memory + p.offset, device, dl_type(c.dtype), c.variable_length ? 3 : 4, t.shape.data(), t.strides.data());
}

Call::Call(const Case& c, const Placement& p, std::byte* memory, DLDevice device) {
  point(q_, p.q, memory, device, c);
  point(k_, p.k, memory, device, c);
  point(v_, p.v, memory, device, c);
  point(out_, p.out, memory, device, c);
  const DLDataType fp32{kDLFloat, 32, 1}, int32{kDLInt, 32, 1};
  lse_.shape = c.variable_length ? std::array<std::int64_t, 4>{p.out.heads, p.out.rows}
                                 : std::array<std::int64_t, 4>{p.out.batch, p.out.heads, p.out.rows};
  lse_.dl = tensor(memory + p.lse, device, fp32, c.variable_length ? 2 : 3, lse_.shape.data(), nullptr);
  args_.struct_size = sizeof(args_);
  args_.flags = c.causal ? FLASHFIT_CAUSAL : 0;
  args_.q = &q_.dl;
  args_.k = &k_.dl;
  args_.v = &v_.dl;
  args_.out = &out_.dl;
  args_.softmax_scale = static_cast<float>(c.softmax_scale);
  if (!c.variable_length) return;
  cu_q_.shape = cu_k_.shape = {static_cast<std::int64_t>(c.lengths_q.size()) + 1};
  cu_q_.dl = tensor(memory + p.cu_q, device, int32, 1, cu_q_.shape.data(), nullptr);
  cu_k_.dl = tensor(memory + p.cu_k, device, int32, 1, cu_k_.shape.data(), nullptr);
  args_.cu_seqlens_q = &cu_q_.dl;
  args_.cu_seqlens_k = &cu_k_.dl;
}

Result<void> Call::run(bool with_lse, flashfit_stream stream) {
  args_.lse = with_lse ? &lse_.dl : nullptr;
  args_.stream = stream;
  return status_of(flashfit_attention_forward(&args_));
}

Result<flashfit_plan> planned(const Case& c, std::size_t index) {
  flashfit_explain_args args{};
  args.struct_size = sizeof(args);
  args.flags = (c.causal ? FLASHFIT_CAUSAL : 0) | (c.variable_length ? FLASHFIT_VARIABLE_LENGTH : 0);
  args.dtype = name_of(c.dtype);
  args.batch = static_cast<std::int64_t>(c.lengths_q.size());
  args.heads_q = c.heads_q;
  args.heads_kv = c.heads_kv;
  args.head_dim = c.head_dim;
  if (c.variable_length) {
    args.total_q = std::accumulate(c.lengths_q.begin(), c.lengths_q.end(), std::int64_t{0});
    args.total_k = std::accumulate(c.lengths_k.begin(), c.lengths_k.end(), std::int64_t{0});
  } else {
    args.seqlen_q = c.lengths_q[0];
    args.seqlen_k = c.lengths_k[0];
  }
  std::size_t count = 0;
  if (Result<void> r = status_of(flashfit_explain(&args, nullptr, 0, &count)); !r) return tl::unexpected(r.error());
  std::vector<flashfit_plan> plans(count);
  for (flashfit_plan& plan : plans) plan.struct_size = sizeof(plan);
  if (Result<void> r = status_of(flashfit_explain(&args, plans.data(), count, &count)); !r)
    return tl::unexpected(r.error());
  if (index >= plans.size()) return fail(Code::kNoGpu, "the plan knows no such GPU");
  if (plans[index].fits == 0) return fail(Code::kMisfit, plans[index].reason);
  return plans[index];
}

}  // namespace flashfit::bench
