#include "runtime/api/moe/weights_product.hpp"

#include <algorithm>

#include "core/gpu/device.hpp"
#include "kernels/moe/experts/weights/plan.hpp"
#include "runtime/api/decision_log.hpp"
#include "runtime/api/live_gpus.hpp"
#include "runtime/api/moe/gpu_tensors.hpp"
#include "runtime/api/plan_memo.hpp"
#include "runtime/api/refuse.hpp"
#include "runtime/api/settings.hpp"
#include "runtime/api/versioned.hpp"
#include "runtime/images/carried.hpp"
#include "runtime/images/loader.hpp"
#include "runtime/images/tensor_map.hpp"

namespace flashfit::api {
namespace {

/// The struct's size in its first version: no caller has a smaller one.
constexpr std::size_t kFirstSize = 64;
constexpr const char* kName = "moe.weights";

using Args = flashfit_moe_weights_product_args;

struct Tensors {
  Argument a, b, offsets, out;
};

Result<void> read_tensors(const Args& args, Tensors& t) {
  const struct {
    const char* name;
    const DLTensor* tensor;
    int ndim;
    const char* layout;
    Argument& to;
  } all[] = {{"a", args.a, 2, "[rows, m]", t.a},
             {"b", args.b, 2, "[rows, n]", t.b},
             {"offsets", args.offsets, 1, "[experts + 1]", t.offsets},
             {"out", args.out, 3, "[experts, m, n]", t.out}};
  for (const auto& each : all) {
    if (auto ok = read_argument(each.name, each.tensor, each.ndim, each.layout, each.to); !ok) return ok;
    if (auto ok = check_on_gpu_of(t.a, each.to); !ok) return ok;
    if (each.ndim > 1 && each.to.begin % 16 != 0)
      return refuse("{}: address {:#x}; accepted: a multiple of 16", each.name, each.to.begin);
  }
  return {};
}

Result<DType> check_dtypes(const Tensors& t) {
  auto dtype = half_dtype_of(t.a, {&t.b, &t.out});
  if (!dtype) return dtype;
  if (!is_dtype(t.offsets.dtype, kDLInt, 32))
    return refuse("offsets: dtype is {}; accepted: int32", text(t.offsets.dtype));
  return dtype;
}

Result<void> check_shapes(const Tensors& t, WeightsProduct& p) {
  p.rows = t.a.size[0];
  p.experts = static_cast<int>(std::min<std::int64_t>(t.out.size[0], kMostExperts + 1));
  p.m = static_cast<int>(t.out.size[1]), p.n = static_cast<int>(t.out.size[2]);
  if (p.experts < 1 || p.experts > kMostExperts || p.m < 8 || p.m % 8 || p.n < 8 || p.n % 8)
    return refuse("out: shape is {}; accepted: 1 to {} experts, m and n that are multiples of 8", text(t.out.shape()),
                  kMostExperts);
  auto ok = check_sizes(t.a, {p.rows, p.m});
  if (ok) ok = check_sizes(t.b, {p.rows, p.n});
  if (ok) ok = check_sizes(t.offsets, {p.experts + std::int64_t{1}});
  return ok;
}

Result<void> check_memory(const Tensors& t) {
  for (const Argument* x : {&t.a, &t.b})
    if (x->stride[1] > 1 || x->stride[0] % 8 != 0)
      return refuse("{}: strides are {}; accepted: 1 at last, else a multiple of 8", x->name, text(x->strides()));
  for (const Argument* x : {&t.offsets, &t.out})
    if (!is_contiguous(*x)) return refuse("{}: strides are {}; accepted: contiguous", x->name, text(x->strides()));
  for (const Argument* other : {&t.a, &t.b, &t.offsets})
    if (overlap(t.out, *other)) return refuse_overlap(t.out, *other);
  return {};
}

using Memo = PlanMemo<WeightsProduct, WeightsProductPlan>;
thread_local constinit Memo memo{};

Result<const WeightsProductPlan*> plan_for(const WeightsProduct& p, int device, bool ptx_only) {
  const auto gpu = remembered_gpu("a", device);
  if (!gpu) return tl::unexpected(gpu.error());
  const auto driver = driver_cuda_version();
  if (!driver) return tl::unexpected(driver.error());
  const Memo::Key key{*gpu, *driver, ptx_only, p};
  if (const WeightsProductPlan* const known = memo.find(key)) return known;
  if (const Result<void> whole = check_carried_images(); !whole) return tl::unexpected(whole.error());
  const auto plan = plan_weights_product(p, **gpu, *driver, carried_images(), ptx_only);
  if (!plan) return tl::unexpected(plan.error());
  return memo.keep(key, *plan);
}

Result<void> run(const Args& args, const Allocator& allocator) {
  if (const std::uint32_t unknown = args.flags & ~std::uint32_t{FLASHFIT_PTX_ONLY})
    return refuse("flags: {:#x} is unknown; accepted: FLASHFIT_PTX_ONLY ({:#x})", unknown, FLASHFIT_PTX_ONLY);
  WeightsProductCall call;
  WeightsProduct& p = call.problem;
  Tensors t;
  auto ok = read_tensors(args, t);
  if (!ok) return ok;
  const auto dtype = check_dtypes(t);
  if (!dtype) return tl::unexpected(dtype.error());
  p.dtype = *dtype;
  ok = check_shapes(t, p);
  if (ok) ok = check_memory(t);
  if (ok) ok = check_enabled(kName, true);
  if (!ok) return ok;
  const int device = t.a.device.device_id;
  const auto plan = plan_for(p, device, (args.flags & FLASHFIT_PTX_ONLY) != 0);
  if (!plan) return tl::unexpected(plan.error());
  const Argument* const tensors[] = {&t.a, &t.b, &t.offsets, &t.out};
  const auto workspace =
      find_workspace(args.workspace, args.workspace_bytes, kWeightsProductWorkspace, allocator, tensors);
  if (!workspace) return tl::unexpected(workspace.error());
  call.a = t.a.data, call.a_row = t.a.stride[0];
  call.b = t.b.data, call.b_row = t.b.stride[0];
  call.offsets = static_cast<const int*>(t.offsets.data), call.out = t.out.data, call.workspace = *workspace;
  WeightsProductArguments arguments;
  ok = arguments.set(weights_product_variant_of(*(*plan)->product->variant).config, call, encode_tensor_map);
  if (!ok) return ok;
  return launch((*plan)->steps.all(), arguments.all(), device, args.stream);
}

}  // namespace

Result<void> moe_weights_product(const Args* caller_args, const Allocator& allocator) {
  const auto args = read_versioned(caller_args, kFirstSize);
  Result<void> done = args ? run(*args, allocator) : Result<void>(tl::unexpected(args.error()));
  if (!done && logging()) log_once(fmt::format("{}: refused: {}", kName, done.error().message));
  return done;
}

}  // namespace flashfit::api
