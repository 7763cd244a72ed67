#include "runtime/api/attention/plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "runtime/api/attention/explain_request.hpp"
#include "runtime/api/one_line.hpp"
#include "runtime/api/versioned.hpp"
#include "runtime/images/carried.hpp"

namespace flashfit::api {
namespace {

template <std::size_t N>
void put(char (&to)[N], std::string_view text) {
  write_one_line(text, to, N);
}

flashfit_plan frame(const Gpu& gpu) {
  flashfit_plan p{};
  put(p.gpu, gpu.name);
  p.cc_major = gpu.cc.major;
  p.cc_minor = gpu.cc.minor;
  p.shared_memory_limit_bytes = gpu.shared_bytes_block;
  return p;
}

void put_config(flashfit_plan& p, const ForwardConfig& c) {
  put(p.family, family_of(c).name);
  p.block_m = c.block_m;
  p.block_n = c.block_n;
  p.warps = c.warps;
  p.stages = c.stages;
}

void put_model(flashfit_plan& p, const ForwardModel& model) {
  p.blocks_per_sm = model.blocks_per_sm;
  p.modelled_us = model.microseconds;
  put(p.bound, model.bound);
}

flashfit_plan chosen(const ExplainRequest& r, const Gpu& gpu) {
  flashfit_plan p = frame(gpu);
  const auto plan = plan_forward(r.problem, gpu, r.driver, carried_images(), r.options);
  if (!plan) {
    put(p.reason, plan.error().message);
    return p;
  }
  p.fits = 1;
  put_config(p, plan->variant->config);
  put_model(p, plan->model);
  p.threads = plan->row().threads;
  p.shared_memory_bytes = plan->row().shared_bytes;
  p.registers_per_thread = plan->registers;
  p.registers_estimated = plan->registers_estimated;
  p.spill_bytes = plan->image().local_bytes;
  p.grid = plan->grid();
  p.workspace_bytes = plan->workspace_bytes;
  put(p.variant, name_of(plan->variant->config));
  put(p.target, plan->image().target.str());
  put(p.reason, reason_for(*plan, gpu, r.driver, carried_images()));
  return p;
}

flashfit_plan what_if_on(const ExplainRequest& r, const Gpu& gpu) {
  flashfit_plan p = frame(gpu);
  const Fit fit = what_if(*r.tile, r.problem, gpu, carried_images());
  p.fits = fit.fits;
  put_config(p, fit.config);
  if (fit.fits) put_model(p, fit.model);
  p.threads = fit.threads;
  p.shared_memory_bytes = fit.shared_bytes;
  p.registers_per_thread = fit.registers;
  p.registers_estimated = fit.registers_estimated;
  p.spill_bytes = fit.spill_bytes;
  if (const std::string name = name_of(fit.config); find_forward_variant(name)) put(p.variant, name);
  put(p.reason, fit.binds);
  return p;
}

}  // namespace

Result<void> explain_plans(const flashfit_explain_args* args, flashfit_plan* plans, std::size_t capacity,
                           std::size_t* count) {
  if (!count) return fail(Code::kInvalidArgument, "count: NULL; accepted: where to put the number of GPUs");
  *count = 0;
  if (capacity && !plans)
    return fail(Code::kInvalidArgument, fmt::format("plans: NULL with capacity {}; accepted: NULL with 0", capacity));
  const std::size_t size = capacity ? plans->struct_size : 0;
  if (capacity) {
    if (auto ok = check_struct_size("plans[0]", size, kFirstPlanSize, sizeof(flashfit_plan)); !ok) return ok;
  }
  const auto request = read_explain(args);
  if (!request) return tl::unexpected(request.error());
  const std::size_t filled = std::min(capacity, request->gpus.size());
  char* to = reinterpret_cast<char*>(plans);  // an array of the caller's version of the struct
  for (std::size_t i = 0; i < filled; ++i, to += size) {
    flashfit_plan p = request->tile ? what_if_on(*request, request->gpus[i]) : chosen(*request, request->gpus[i]);
    p.struct_size = static_cast<std::uint32_t>(size);
    std::memset(to, 0, size);
    std::memcpy(to, &p, std::min(size, sizeof p));
  }
  *count = request->gpus.size();
  return {};
}

}  // namespace flashfit::api
