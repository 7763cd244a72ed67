#include "runtime/api/moe/token_rows.hpp"

#include "kernels/moe/experts/token_rows.hpp"
#include "runtime/api/decision_log.hpp"
#include "runtime/api/moe/gpu_tensors.hpp"
#include "runtime/api/planned_on_gpu.hpp"
#include "runtime/api/refuse.hpp"
#include "runtime/api/settings.hpp"
#include "runtime/api/versioned.hpp"
#include "runtime/images/loader.hpp"

namespace flashfit::api {
namespace {

/// The struct's size in its first version: no caller has a smaller one.
constexpr std::size_t kFirstSize = 48;
constexpr const char* kName = "moe.rows";

using Args = flashfit_moe_rows_args;

struct Tensors {
  Argument tokens, places, rows, weights;
};

Result<void> read_tensors(const Args& args, Tensors& t) {
  const struct {
    const char* name;
    const DLTensor* tensor;
    const char* layout;
    Argument& to;
  } all[] = {{"tokens", args.tokens, "[tokens, columns]", t.tokens},
             {"places", args.places, "[tokens, top_k]", t.places},
             {"rows", args.rows, "[rows, columns]", t.rows},
             {"topk_weights", args.topk_weights, "[tokens, top_k]", t.weights}};
  for (const auto& each : all) {
    if (&each.to == &t.weights && !each.tensor) continue;
    if (auto ok = read_argument(each.name, each.tensor, 2, each.layout, each.to); !ok) return ok;
    if (auto ok = check_on_gpu_of(t.tokens, each.to); !ok) return ok;
  }
  return {};
}

Result<DType> check_dtypes(const Tensors& t) {
  auto dtype = half_dtype_of(t.tokens, {&t.rows});
  if (!dtype) return dtype;
  if (!is_dtype(t.places.dtype, kDLInt, 32))
    return refuse("places: dtype is {}; accepted: int32", text(t.places.dtype));
  if (t.weights.ndim && !is_dtype(t.weights.dtype, kDLFloat, 32))
    return refuse("topk_weights: dtype is {}; accepted: fp32", text(t.weights.dtype));
  return dtype;
}

Result<void> check_shapes(const Tensors& t) {
  const std::int64_t tokens = t.tokens.size[0], columns = t.tokens.size[1], top_k = t.places.size[1];
  if (columns < 8 || columns % 8)
    return refuse("tokens: shape is {}; accepted: columns that are a multiple of 8", text(t.tokens.shape()));
  auto ok = check_sizes(t.places, {tokens, top_k});
  if (ok && (top_k < 1 || tokens * top_k > kMaxSize))
    return refuse("places: shape is {}; accepted: top_k of 1 and more, {} places at most", text(t.places.shape()),
                  kMaxSize);
  if (ok) ok = check_sizes(t.rows, {t.rows.size[0], columns});
  if (ok && t.weights.ndim) ok = check_sizes(t.weights, {tokens, top_k});
  return ok;
}

Result<void> check_memory(const Tensors& t, const Argument& written) {
  for (const Argument* a : {&t.tokens, &t.rows})
    if (a->begin % 16 != 0) return refuse("{}: address {:#x}; accepted: a multiple of 16", a->name, a->begin);
  if (t.tokens.stride[1] > 1 || t.tokens.stride[0] % 8 != 0)
    return refuse("tokens: strides are {}; accepted: 1 at last, else a multiple of 8", text(t.tokens.strides()));
  if (&written == &t.tokens && !strides_nest(t.tokens))
    return refuse("tokens: strides are {}; accepted: those of rows with memory of their own", text(t.tokens.strides()));
  for (const Argument* a : {&t.places, &t.rows, &t.weights})
    if (a->ndim && !is_contiguous(*a))
      return refuse("{}: strides are {}; accepted: contiguous", a->name, text(a->strides()));
  for (const Argument* other : {&t.tokens, &t.places, &t.rows, &t.weights})
    if (other != &written && overlap(written, *other)) return refuse_overlap(written, *other);
  return {};
}

Result<void> run(const Args& args, ExpertsRowsStep step) {
  if (const std::uint32_t unknown = args.flags & ~std::uint32_t{FLASHFIT_PTX_ONLY})
    return refuse("flags: {:#x} is unknown; accepted: FLASHFIT_PTX_ONLY ({:#x})", unknown, FLASHFIT_PTX_ONLY);
  const bool gathers = step == ExpertsRowsStep::kGather;
  if (gathers && args.topk_weights) return refuse("topk_weights: given; accepted: NULL, gathering weighs nothing");
  Tensors t;
  auto ok = read_tensors(args, t);
  if (!ok) return ok;
  const auto dtype = check_dtypes(t);
  if (!dtype) return tl::unexpected(dtype.error());
  ok = check_shapes(t);
  if (ok) ok = check_memory(t, gathers ? t.rows : t.tokens);
  if (ok) ok = check_enabled(kName, true);
  if (!ok || t.tokens.size[0] == 0) return ok;
  const int device = t.tokens.device.device_id;
  const auto image = planned_on_gpu("tokens", device, [&](const Gpu& gpu, CudaVersion driver) {
    return plan_token_rows(*dtype, gpu, driver, carried_images(), (args.flags & FLASHFIT_PTX_ONLY) != 0);
  });
  if (!image) return tl::unexpected(image.error());
  const TokenRowsCall call{.problem = {.dtype = *dtype,
                                       .tokens = t.tokens.size[0],
                                       .top_k = static_cast<int>(t.places.size[1]),
                                       .columns = static_cast<int>(t.tokens.size[1])},
                           .places = static_cast<const int*>(t.places.data),
                           .tokens = t.tokens.data,
                           .tokens_row = t.tokens.stride[0],
                           .rows = t.rows.data,
                           .weights = static_cast<const float*>(t.weights.data)};
  const ExpertsRowsParams params = gathers ? gather_params(call) : sum_params(call);
  const void* const arguments[] = {&params};
  return launch(token_rows_steps(**image, call.problem).all(), arguments, device, args.stream);
}

Result<void> run_or_log(const Args* caller_args, ExpertsRowsStep step) {
  const auto args = read_versioned(caller_args, kFirstSize);
  Result<void> done = args ? run(*args, step) : Result<void>(tl::unexpected(args.error()));
  log_refusal(kName, done);
  return done;
}

}  // namespace

Result<void> moe_gather_rows(const Args* args) { return run_or_log(args, ExpertsRowsStep::kGather); }
Result<void> moe_sum_rows(const Args* args) { return run_or_log(args, ExpertsRowsStep::kSum); }

}  // namespace flashfit::api
