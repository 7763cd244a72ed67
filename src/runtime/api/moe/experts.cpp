#include "runtime/api/moe/experts.hpp"

#include <new>

#include "runtime/api/decision_log.hpp"
#include "runtime/api/moe/experts_check.hpp"
#include "runtime/api/moe/experts_gpu.hpp"
#include "runtime/api/refuse.hpp"
#include "runtime/api/settings.hpp"
#include "runtime/cpu/experts.hpp"
#include "runtime/cpu/route.hpp"

namespace flashfit::api {
namespace {

Result<void> run_on_cpu(const CheckedExperts& checked) {
  ExpertsCall call = checked.call;
  const ExpertsProblem& p = call.problem;
  if (p.tokens == 0) return {};
  if (checked.finding == Finding::kOffsets) return cpu::grouped_mlp(call, checked.offsets);
  if (checked.finding == Finding::kIds && !checked.foreign_ids)
    if (auto ok = check_ids(checked); !ok) return ok;
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
  try {
    if (checked.finding == Finding::kLogits) {
      RouteCall route = checked.route;
      ids.resize(static_cast<std::size_t>(p.rows())), weights.resize(ids.size());
      route.ids = ids.data(), route.weights = weights.data();
      cpu::route(route);
      call.topk_ids = ids.data(), call.topk_weights = weights.data();
    }
    if (!checked.map.empty()) {
      if (ids.empty()) ids.assign(call.topk_ids, call.topk_ids + p.rows());
      for (std::int32_t& id : ids)
        id = id < 0 || static_cast<std::size_t>(id) >= checked.map.size() ? -1 : checked.map[id];
      call.topk_ids = ids.data();
    }
  } catch (const std::bad_alloc&) {
    return fail(Code::kOutOfMemory, fmt::format("experts on the CPU: no memory for {} choices", p.rows()));
  }
  return cpu::experts(call, checked.has_shared ? &checked.shared : nullptr);
}

Result<void> run(const CheckedExperts& checked, const Allocator& allocator) {
  if (auto ok = check_enabled("moe.layer", checked.on_gpu); !ok) return ok;
  if (checked.on_gpu) return run_on_gpu(checked, allocator);
  if (logging())
    log_once(fmt::format("moe.layer {}, {} tokens: cpu, {}", describe(checked), checked.call.problem.tokens,
                         cpu::kernels().front().name));
  return run_on_cpu(checked);
}

Result<void> prepare(const CheckedExperts& checked) {
  if (auto ok = check_enabled("moe.layer", checked.on_gpu); !ok) return ok;
  return checked.on_gpu ? prepare_on_gpu(checked) : Result<void>{};
}

Result<std::uint64_t> workspace(const CheckedExperts& checked) {
  if (auto ok = check_enabled("moe.layer", checked.on_gpu); !ok) return tl::unexpected(std::move(ok.error()));
  return checked.on_gpu ? gpu_workspace(checked) : Result<std::uint64_t>{0};
}

/// Checks the arguments and hands the call to `step`.
template <class T, class Step>
Result<T> checked_then(const flashfit_fused_moe_args* args, Step step) {
  const auto checked = check_experts(args);
  Result<T> done = checked ? step(*checked) : Result<T>(tl::unexpected(checked.error()));
  if (!done && logging())
    log_once(fmt::format("moe.layer{}: refused: {}", checked ? " " + describe(*checked) : "", done.error().message));
  return done;
}

}  // namespace

Result<void> fused_moe(const flashfit_fused_moe_args* args, const Allocator& allocator) {
  return checked_then<void>(args, [&](const CheckedExperts& checked) { return run(checked, allocator); });
}

Result<void> prepare_moe(const flashfit_fused_moe_args* args) { return checked_then<void>(args, prepare); }

Result<std::uint64_t> fused_moe_workspace(const flashfit_fused_moe_args* args) {
  return checked_then<std::uint64_t>(args, workspace);
}

}  // namespace flashfit::api
