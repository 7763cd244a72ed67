#include "measure/call.hpp"

#include <numeric>
#include <vector>

namespace flashfit::measure {
namespace {

constexpr std::uint8_t kBool = 6;  ///< kDLBool, which headers of DLPack before 0.8 do not name

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

/// What a plain call has not.
void Call::options(const Case& c, const Placement& p, std::byte* memory, DLDevice device) {
  const DLDataType fp32{kDLFloat, 32, 1}, int32{kDLInt, 32, 1}, boolean{kBool, 8, 1};
  const auto vector = [&](Tensor& t, std::size_t offset, DLDataType type, std::size_t length) {
    t.shape = {static_cast<std::int64_t>(length)};
    t.dl = tensor(memory + offset, device, type, 1, t.shape.data(), nullptr);
    return &t.dl;
  };
  if (c.windowed()) args_.flags |= FLASHFIT_WINDOW;
  args_.window_left = c.windowed() ? c.window_left : 0;
  args_.window_right = c.windowed() ? c.window_right : 0;
  args_.softcap = static_cast<float>(c.softcap);
  if (c.alibi) args_.alibi_slopes = vector(alibi_, p.alibi, fp32, static_cast<std::size_t>(c.heads_q));
  if (c.sinks) args_.sinks = vector(sinks_, p.sinks, fp32, static_cast<std::size_t>(c.heads_q));
  if (!c.used_k.empty()) args_.seqused_k = vector(used_k_, p.used_k, int32, c.used_k.size());
  if (c.bias.kind == BiasKind::kNone) return;
  bias_.shape = {p.bias.batch, p.bias.heads, p.bias.rows, p.bias.dim};
  bias_.strides = {p.bias.batch_stride, p.bias.head_stride, p.bias.row_stride, 1};
  const DLDataType type = c.bias.kind == BiasKind::kVisible ? boolean
                          : c.bias.kind == BiasKind::kF32   ? fp32
                                                            : dl_type(c.dtype);
  bias_.dl = tensor(memory + p.bias.offset, device, type, 4, bias_.shape.data(), bias_.strides.data());
  args_.bias = &bias_.dl;
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
  options(c, p, memory, device);
  if (!c.variable_length) return;
  cu_q_.shape = cu_k_.shape = {static_cast<std::int64_t>(c.lengths_q.size()) + 1};
  cu_q_.dl = tensor(memory + p.cu_q, device, int32, 1, cu_q_.shape.data(), nullptr);
  cu_k_.dl = tensor(memory + p.cu_k, device, int32, 1, cu_k_.shape.data(), nullptr);
  args_.cu_seqlens_q = &cu_q_.dl;
  args_.cu_seqlens_k = &cu_k_.dl;
}

Result<std::size_t> Call::workspace_bytes() {
  std::uint64_t bytes = 0;
  return status_of(flashfit_attention_workspace(&args_, &bytes)).map([&] { return std::size_t{bytes}; });
}

void Call::use_workspace(std::byte* memory, std::size_t bytes) {
  args_.workspace = memory;
  args_.workspace_bytes = bytes;
}

Result<void> Call::run(bool with_lse, flashfit_stream stream) {
  args_.lse = with_lse ? &lse_.dl : nullptr;
  args_.stream = stream;
  return status_of(flashfit_attention_forward(&args_));
}

namespace {

/// Whether rows of q, k, v or out begin where 16 bytes cannot be copied at once; the placement begins at a multiple.
bool unaligned(const Case& c) {
  const Placement p = place(c);
  for (const Place* t : {&p.q, &p.k, &p.v, &p.out})
    for (const std::int64_t stride :
         {t->batch > 1 ? t->batch_stride : 0, t->rows > 1 ? t->row_stride : 0, t->heads > 1 ? t->head_stride : 0,
          static_cast<std::int64_t>(t->offset) / size_of(c.dtype)})
      if (stride % 8 != 0) return true;
  return false;
}

}  // namespace

Result<flashfit_plan> planned(const Case& c, std::size_t index) {
  flashfit_explain_args args{};
  args.struct_size = sizeof(args);
  args.flags = (c.causal ? FLASHFIT_CAUSAL : 0) | (c.variable_length ? FLASHFIT_VARIABLE_LENGTH : 0) |
               (c.windowed() ? FLASHFIT_WINDOW : 0) | (c.softcap > 0 ? FLASHFIT_SOFTCAP : 0) |
               (c.alibi ? FLASHFIT_ALIBI : 0) | (c.sinks ? FLASHFIT_SINKS : 0) |
               (unaligned(c) ? FLASHFIT_UNALIGNED : 0);
  args.dtype = name_of(c.dtype);
  args.batch = static_cast<std::int64_t>(c.lengths_q.size());
  args.heads_q = c.heads_q;
  args.heads_kv = c.heads_kv;
  args.head_dim = c.head_dim;
  args.head_dim_v = c.head_dim_v;
  if (c.windowed()) {
    args.window_left = c.window_left;
    args.window_right = c.window_right;
  }
  if (c.bias.kind != BiasKind::kNone) args.bias = name_of(c.bias.kind, c.dtype);
  if (c.variable_length) {
    args.total_q = std::accumulate(c.lengths_q.begin(), c.lengths_q.end(), c.spare_rows);
    args.total_k = std::accumulate(c.lengths_k.begin(), c.lengths_k.end(), c.spare_rows);
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

}  // namespace flashfit::measure
