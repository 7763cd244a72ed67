#include "runtime/api/moe/weights_product.hpp"

#include <algorithm>

#include "kernels/moe/experts/weights/plan.hpp"
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
constexpr const char* kName = "moe.weights";

using Args = flashfit_moe_weights_product_args;

struct Tensors {
  Argument a, b, offsets, out;
};

Result<void> read_tensors(const Args& args, Tensors& t) {
  return read_product_tensors({{"a", args.a, 2, "[rows, m]", t.a},
                               {"b", args.b, 2, "[rows, n]", t.b},
                               {"offsets", args.offsets, 1, "[experts + 1]", t.offsets},
                               {"out", args.out, 3, "[experts, m, n]", t.out}});
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
  return check_product_memory(t.a, t.b, t.offsets, t.out);
}

thread_local constinit PlanMemo<WeightsProduct, WeightsProductPlan> memo{};

Result<const WeightsProductPlan*> plan_for(const WeightsProduct& p, int device, bool ptx_only) {
  return planned_on_gpu(memo, "a", device, ptx_only, p, [&](const Gpu& gpu, CudaVersion driver) {
    return plan_weights_product(p, gpu, driver, carried_images(), ptx_only);
  });
}

Result<void> run(const Args& args, const Allocator& allocator) {
  if (const std::uint32_t unknown = args.flags & ~std::uint32_t{FLASHFIT_PTX_ONLY})
    return refuse("flags: {:#x} is unknown; accepted: FLASHFIT_PTX_ONLY ({:#x})", unknown, FLASHFIT_PTX_ONLY);
  WeightsProductCall call;
  WeightsProduct& p = call.problem;
  Tensors t;
  auto ok = read_tensors(args, t);
  if (!ok) return ok;
  const auto dtype = product_dtype_of(t.a, t.b, t.offsets, t.out);
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
  log_refusal(kName, done);
  return done;
}

}  // namespace flashfit::api
