#include "kernels/attention/forward/plan/explain.hpp"

#include <cmath>

#include "kernels/attention/forward/plan/model.hpp"

namespace flashfit {
std::optional<int> Explanation::blocks_per_sm() const {
  return model ? std::optional(model->blocks_per_sm) : std::nullopt;
}

std::optional<const char*> Explanation::bound() const { return model ? std::optional(model->bound) : std::nullopt; }

std::optional<double> Explanation::modelled_us() const {
  return model ? std::optional(std::round(model->microseconds * 10) / 10) : std::nullopt;
}

std::optional<bool> Explanation::calibrated() const { return model ? std::optional(is_calibrated(gpu)) : std::nullopt; }

Explanation explanation(const ForwardProblem& problem, const Gpu& gpu, CudaVersion driver,
                        std::span<const Image> images, const PlanOptions& options) {
  const auto plan = plan_forward(problem, gpu, driver, images, options);
  Explanation e{.gpu = gpu};
  if (!plan) {
    e.reason = plan.error().message;
    return e;
  }
  e.fits = true;
  e.config = plan->variant->config;
  e.variant = name_of(plan->variant->config);
  e.target = plan->image().target.str();
  e.shared_memory_bytes = plan->kernel_variant().shared_bytes;
  e.registers_per_thread = plan->registers;
  e.registers_estimated = plan->registers_estimated;
  e.spill_bytes = plan->image().local_bytes;
  e.grid = plan->grid();
  e.packed_heads = plan->packed_heads();
  e.splits = plan->splits;
  e.split_tiles = plan->split_tiles;
  e.workspace_bytes = static_cast<std::int64_t>(plan->workspace_bytes);
  e.threads = plan->kernel_variant().threads;
  e.model = plan->model;
  e.reason = reason_for(*plan, gpu, driver, images);
  return e;
}

Explanation explanation(const Fit& fit, const Gpu& gpu) {
  Explanation e{.gpu = gpu, .fits = fit.fits, .what_if = true};
  e.config = fit.config;
  if (std::string name = name_of(fit.config); find_forward_variant(name) != nullptr) e.variant = std::move(name);
  e.shared_memory_bytes = fit.shared_bytes;
  e.registers_per_thread = fit.registers;
  e.registers_estimated = fit.registers_estimated;
  e.spill_bytes = fit.spill_bytes;
  e.threads = fit.threads;
  if (fit.fits) e.model = fit.model;
  e.reason = fit.binds;
  return e;
}

void write_explanation(JsonText& json, const Explanation& e) {
  json.begin_object();
  json.field("gpu", e.gpu.name);
  json.field("compute_capability", e.gpu.cc.str());
  json.field("fits", e.fits);
  json.field("family", e.config ? std::optional(family_of(*e.config).name) : std::nullopt);
  json.field("variant", e.variant);
  json.field("kind", e.config ? std::optional(kind_of(*e.config)) : std::nullopt);
  json.field("target", e.target);
  json.field("shared_memory_bytes", e.shared_memory_bytes);
  json.field("shared_memory_limit_bytes", e.gpu.shared_bytes_block);
  json.field("registers_per_thread", e.registers_per_thread);
  json.field("registers_estimated", e.registers_estimated);
  json.field("blocks_per_sm", e.blocks_per_sm());
  json.field("grid", e.grid);
  json.field("packed_heads", e.packed_heads);
  json.field("splits", e.splits);
  json.field("split_tiles", e.split_tiles);
  json.field("workspace_bytes", e.workspace_bytes);
  json.field("threads", e.threads);
  json.field("bound", e.bound());
  json.field("modelled_us", e.modelled_us());
  json.field("calibrated", e.calibrated());
  json.field("reason", e.reason);
  if (e.what_if) {
    json.field("block_m", e.config->block_m);
    json.field("block_n", e.config->block_n);
    json.field("stages", e.config->stages);
    json.field("warps", e.config->warps);
    json.field("shared_memory_static_limit_bytes", kStaticSharedBytes);
    json.field("spill_bytes", e.spill_bytes);
  }
  json.end_object();
}

}  // namespace flashfit
