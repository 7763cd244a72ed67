#include "runtime/api/moe/row_order.hpp"

#include "kernels/moe/experts/row_order.hpp"
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
constexpr std::size_t kFirstSize = 72;
constexpr const char* kName = "moe.rows";

using Args = flashfit_moe_sort_rows_args;

struct Tensors {
  Argument ids, places, choices, offsets;
  std::array<const Argument*, 4> all() const { return {&ids, &places, &choices, &offsets}; }
};

Result<void> read_tensors(const Args& args, Tensors& t) {
  const struct {
    const char* name;
    const DLTensor* tensor;
    int ndim;
    const char* layout;
    Argument& to;
  } all[] = {{"topk_ids", args.topk_ids, 2, "[tokens, top_k]", t.ids},
             {"places", args.places, 2, "[tokens, top_k]", t.places},
             {"choices", args.choices, 1, "[tokens * top_k + experts]", t.choices},
             {"offsets", args.offsets, 1, "[experts + 1]", t.offsets}};
  for (const auto& [name, tensor, ndim, layout, to] : all) {
    if (auto ok = read_argument(name, tensor, ndim, layout, to); !ok) return ok;
    if (auto ok = check_on_gpu_of(t.ids, to); !ok) return ok;
    if (!is_dtype(to.dtype, kDLInt, 32)) return refuse("{}: dtype is {}; accepted: int32", name, text(to.dtype));
    if (!is_contiguous(to)) return refuse("{}: strides are {}; accepted: contiguous", name, text(to.strides()));
  }
  for (const Argument* to : {&t.places, &t.choices, &t.offsets})
    for (const Argument* x : t.all())
      if (x != to && overlap(*to, *x)) return refuse_overlap(*to, *x);
  return {};
}

Result<void> check_shapes(const Tensors& t, RowOrder& p) {
  const std::int64_t experts = t.offsets.size[0] - 1, choices = t.ids.size[0] * t.ids.size[1];
  if (experts < 1 || experts > kMostExperts)
    return refuse("offsets: shape is {}; accepted: 2 to {}, of one expert more than there are", text(t.offsets.shape()),
                  kMostExperts + 1);
  if (t.ids.size[1] < 1 || choices + experts > kMaxSize)
    return refuse("topk_ids: shape is {}; accepted: top_k of 1 and more, {} rows at most", text(t.ids.shape()),
                  kMaxSize);
  p.tokens = t.ids.size[0], p.top_k = static_cast<int>(t.ids.size[1]), p.experts = static_cast<int>(experts);
  auto ok = check_sizes(t.places, {p.tokens, p.top_k});
  if (ok) ok = check_sizes(t.choices, {choices + experts});
  return ok;
}

Result<void> run(const Args& args, const Allocator& allocator) {
  if (const std::uint32_t unknown = args.flags & ~std::uint32_t{FLASHFIT_PTX_ONLY})
    return refuse("flags: {:#x} is unknown; accepted: FLASHFIT_PTX_ONLY ({:#x})", unknown, FLASHFIT_PTX_ONLY);
  Tensors t;
  auto ok = read_tensors(args, t);
  if (!ok) return ok;
  RowOrderCall call;
  RowOrder& p = call.problem;
  ok = check_shapes(t, p);
  if (!ok) return ok;
  if (args.experts_low < 0) return refuse("experts_low: {}; accepted: 0 and more", args.experts_low);
  if (args.reserved != 0) return refuse("reserved: {}; accepted: 0", args.reserved);
  p.low = args.experts_low;
  ok = check_enabled(kName, true);
  if (!ok) return ok;
  const int device = t.ids.device.device_id;
  const auto image = planned_on_gpu("topk_ids", device, [&](const Gpu& gpu, CudaVersion driver) {
    return plan_row_order(gpu, driver, carried_images(), (args.flags & FLASHFIT_PTX_ONLY) != 0);
  });
  if (!image) return tl::unexpected(image.error());
  const auto needed = static_cast<std::uint64_t>(row_order_workspace(p));
  const auto workspace = needed == 0 ? Result<void*>(nullptr)
                                     : find_workspace(args.workspace, args.workspace_bytes, needed, allocator, t.all());
  if (!workspace) return tl::unexpected(workspace.error());
  call.ids = static_cast<const int*>(t.ids.data);
  call.places = static_cast<int*>(t.places.data), call.choices = static_cast<int*>(t.choices.data);
  call.offsets = static_cast<int*>(t.offsets.data), call.workspace = *workspace;
  const RowOrderArguments arguments(call);
  return launch(row_order_steps(**image, p).all(), arguments.all(), device, args.stream);
}

}  // namespace

Result<void> moe_sort_rows(const Args* caller_args, const Allocator& allocator) {
  const auto args = read_versioned(caller_args, kFirstSize);
  Result<void> done = args ? run(*args, allocator) : Result<void>(tl::unexpected(args.error()));
  log_refusal(kName, done);
  return done;
}

}  // namespace flashfit::api
