#include "runtime/api/moe/rows_product.hpp"

#include <algorithm>

#include "kernels/moe/experts/rows_product.hpp"
#include "runtime/api/decision_log.hpp"
#include "runtime/api/moe/gpu_tensors.hpp"
#include "runtime/api/planned_on_gpu.hpp"
#include "runtime/api/refuse.hpp"
#include "runtime/api/settings.hpp"
#include "runtime/api/versioned.hpp"
#include "runtime/images/loader.hpp"
#include "runtime/images/tensor_map.hpp"

namespace flashfit::api {
namespace {

/// The struct's size in its first version: no caller has a smaller one.
constexpr std::size_t kFirstSize = 64;
constexpr const char* kName = "moe.product";

using Args = flashfit_moe_rows_product_args;

struct Tensors {
  Argument a, w, offsets, out;
  Argument places, sums, weights;  ///< without dimensions where none is given
};

Result<void> read_tensors(const Args& args, bool transposed, Tensors& t) {
  auto ok = read_product_tensors(
      {{"a", args.a, 2, "[rows, depth]", t.a},
       {"w", args.w, 3, transposed ? "[experts, depth, outputs]" : "[experts, outputs, depth]", t.w},
       {"offsets", args.offsets, 1, "[experts + 1]", t.offsets},
       {"out", args.out, 2, "[rows, outputs]", t.out}});
  const bool sums = args.sums != nullptr;
  const struct {
    const char* name;
    const DLTensor* tensor;
    int ndim;
    const char* layout;
    Argument& to;
    bool needed;
  } all[] = {
      {"places", args.places, 2, "[tokens, top_k]", t.places, sums},
      {"sums", args.sums, 2, "[tokens, outputs]", t.sums, sums},
      {"topk_weights", args.topk_weights, 2, "[tokens, top_k]", t.weights, false},
  };
  for (const auto& each : all) {
    if (!ok) return ok;
    if (!sums && each.tensor) return refuse("{}: given; accepted: NULL without sums", each.name);
    if (!each.tensor && !each.needed) continue;
    ok = read_argument(each.name, each.tensor, each.ndim, each.layout, each.to);
    if (ok) ok = check_on_gpu_of(t.a, each.to);
  }
  return ok;
}

Result<DType> check_dtypes(const Tensors& t) {
  auto dtype = product_dtype_of(t.a, t.w, t.offsets, t.out);
  if (dtype && t.sums.ndim) dtype = half_dtype_of(t.a, {&t.sums});
  if (!dtype) return dtype;
  if (t.places.ndim && !is_dtype(t.places.dtype, kDLInt, 32))
    return refuse("places: dtype is {}; accepted: int32", text(t.places.dtype));
  if (t.weights.ndim && !is_dtype(t.weights.dtype, kDLFloat, 32))
    return refuse("topk_weights: dtype is {}; accepted: fp32", text(t.weights.dtype));
  return dtype;
}

Result<void> check_shapes(const Tensors& t, RowsProduct& p) {
  p.rows = t.a.size[0];
  p.experts = static_cast<int>(std::min<std::int64_t>(t.w.size[0], kMostExperts + 1));
  p.depth = static_cast<int>(t.w.size[p.transposed ? 1 : 2]);
  p.outputs = static_cast<int>(t.w.size[p.transposed ? 2 : 1]);
  if (p.experts < 1 || p.experts > kMostExperts || p.depth < 8 || p.depth % 8 || p.outputs < 8 || p.outputs % 8)
    return refuse("w: shape is {}; accepted: 1 to {} experts, depth and outputs that are multiples of 8",
                  text(t.w.shape()), kMostExperts);
  auto ok = check_sizes(t.a, {p.rows, p.depth});
  if (ok) ok = check_sizes(t.out, {p.rows, p.outputs});
  if (ok) ok = check_sizes(t.offsets, {p.experts + std::int64_t{1}});
  if (!ok || t.places.ndim == 0) return ok;
  const std::int64_t tokens = t.places.size[0], top_k = t.places.size[1];
  if (top_k < 1 || tokens * top_k > kMaxSize)
    return refuse("places: shape is {}; accepted: top_k of 1 and more, {} places at most", text(t.places.shape()),
                  kMaxSize);
  p.sums = true;
  p.tokens = tokens, p.top_k = static_cast<int>(top_k);
  ok = check_sizes(t.sums, {tokens, p.outputs});
  if (ok) ok = check_sizes(t.weights, {tokens, top_k});
  return ok;
}

Result<void> check_memory(const Tensors& t) {
  for (const Argument* x : {&t.a, &t.w, &t.sums}) {
    if (x->ndim == 0) continue;
    const auto last = x->stride.begin() + x->ndim - 1;
    if (*last > 1 || std::any_of(x->stride.begin(), last, [](std::int64_t each) { return each % 8 != 0; }))
      return refuse("{}: strides are {}; accepted: 1 at last, others multiples of 8", x->name, text(x->strides()));
    if (x->begin % 16 != 0) return refuse("{}: address {:#x}; accepted: a multiple of 16", x->name, x->begin);
  }
  auto ok = check_product_memory(t.a, t.w, t.offsets, t.out);
  if (!ok) return ok;
  for (const Argument* x : {&t.places, &t.weights})
    if (x->ndim && !is_contiguous(*x))
      return refuse("{}: strides are {}; accepted: contiguous", x->name, text(x->strides()));
  if (t.sums.ndim && !strides_nest(t.sums))
    return refuse("sums: strides are {}; accepted: those of rows with memory of their own", text(t.sums.strides()));
  for (const Argument* to : {&t.out, &t.sums})
    for (const Argument* x : {&t.a, &t.w, &t.offsets, &t.out, &t.places, &t.sums, &t.weights})
      if (to->ndim && x->ndim && x != to && overlap(*to, *x)) return refuse_overlap(*to, *x);
  return {};
}

thread_local constinit PlanMemo<RowsProduct, ExpertsPlan> memo{};

Result<const ExpertsPlan*> plan_for(const RowsProduct& p, int device, bool ptx_only) {
  return planned_on_gpu(memo, "a", device, ptx_only, p, [&](const Gpu& gpu, CudaVersion driver) {
    return plan_rows_product(p, gpu, driver, carried_images(), {.variant = {}, .ptx_only = ptx_only});
  });
}

Result<void> run(const Args& args, const Allocator& allocator) {
  constexpr std::uint32_t kKnown = FLASHFIT_TRANSPOSED | FLASHFIT_PTX_ONLY;
  if (const std::uint32_t unknown = args.flags & ~kKnown)
    return refuse("flags: {:#x} is unknown; accepted: FLASHFIT_TRANSPOSED ({:#x}), FLASHFIT_PTX_ONLY ({:#x})", unknown,
                  FLASHFIT_TRANSPOSED, FLASHFIT_PTX_ONLY);
  RowsProductCall call;
  RowsProduct& p = call.problem;
  p.transposed = (args.flags & FLASHFIT_TRANSPOSED) != 0;
  Tensors t;
  auto ok = read_tensors(args, p.transposed, t);
  if (!ok) return ok;
  const auto dtype = check_dtypes(t);
  if (!dtype) return tl::unexpected(dtype.error());
  p.dtype = *dtype;
  ok = check_shapes(t, p);
  if (ok) ok = check_memory(t);
  if (ok) ok = check_enabled(kName, true);
  if (!ok || (p.rows == 0 && (!p.sums || p.tokens == 0))) return ok;
  const int device = t.a.device.device_id;
  const auto plan = plan_for(p, device, (args.flags & FLASHFIT_PTX_ONLY) != 0);
  if (!plan) return tl::unexpected(plan.error());
  const Argument* const tensors[] = {&t.a, &t.w, &t.offsets, &t.out, &t.places, &t.sums, &t.weights};
  const auto needed = static_cast<std::uint64_t>(rows_product_workspace(p));
  const auto workspace = needed == 0 ? Result<void*>(nullptr)
                                     : find_workspace(args.workspace, args.workspace_bytes, needed, allocator, tensors);
  if (!workspace) return tl::unexpected(workspace.error());
  // Of dimensions of one element no stride is read.
  call.a = t.a.data, call.a_row = t.a.stride[0];
  call.w = t.w.data, call.w_expert = t.w.stride[0], call.w_row = t.w.stride[1];
  call.offsets = static_cast<const int*>(t.offsets.data), call.out = t.out.data, call.workspace = *workspace;
  call.places = static_cast<const int*>(t.places.data);
  call.weights = static_cast<const float*>(t.weights.data);
  call.sums = t.sums.data, call.sums_row = t.sums.stride[0];
  RowsProductArguments arguments;
  ok = arguments.set(experts_product_variant_of(*(*plan)->product->variant).config, call, (*plan)->phase_columns,
                     encode_tensor_map);
  if (!ok) return ok;
  return launch((*plan)->steps.all(), arguments.all(), device, args.stream);
}

}  // namespace

Result<void> moe_rows_product(const flashfit_moe_rows_product_args* caller_args, const Allocator& allocator) {
  const auto args = read_versioned(caller_args, kFirstSize);
  Result<void> done = args ? run(*args, allocator) : Result<void>(tl::unexpected(args.error()));
  log_refusal(kName, done);
  return done;
}

}  // namespace flashfit::api
