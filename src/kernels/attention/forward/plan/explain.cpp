#include "kernels/attention/forward/plan/explain.hpp"

#include <cmath>
#include <optional>

#include "kernels/attention/forward/plan/model.hpp"

namespace flashfit {
namespace {

/// What the two kinds of explanation share; null where unknown.
struct Shared {
  bool fits = false;
  std::optional<std::string> variant, target;
  const char* family = nullptr;
  std::optional<int> shared_memory_bytes, registers_per_thread, threads;
  std::optional<bool> registers_estimated;
  std::optional<std::int64_t> grid, workspace_bytes;
  const char* kind = nullptr;
  std::optional<int> splits, split_tiles;
  const ForwardModel* model = nullptr;
  std::string reason;
};

const char* kind_of(const ForwardConfig& c) { return c.kind == ForwardKind::kGeneral ? "general" : "plain"; }

void write_fields(JsonText& json, const Gpu& gpu, const Shared& s) {
  const auto of_model = [&](const char* key, auto value) {
    s.model ? json.field(key, value(*s.model)) : json.field(key, nullptr);
  };
  json.field("gpu", gpu.name);
  json.field("compute_capability", gpu.cc.str());
  json.field("fits", s.fits);
  s.family ? json.field("family", s.family) : json.field("family", nullptr);
  json.field("variant", s.variant);
  s.kind ? json.field("kind", s.kind) : json.field("kind", nullptr);
  json.field("target", s.target);
  json.field("shared_memory_bytes", s.shared_memory_bytes);
  json.field("shared_memory_limit_bytes", gpu.shared_bytes_block);
  json.field("registers_per_thread", s.registers_per_thread);
  json.field("registers_estimated", s.registers_estimated);
  of_model("blocks_per_sm", [](const ForwardModel& m) { return m.blocks_per_sm; });
  json.field("grid", s.grid);
  json.field("splits", s.splits);
  json.field("split_tiles", s.split_tiles);
  json.field("workspace_bytes", s.workspace_bytes);
  json.field("threads", s.threads);
  of_model("bound", [](const ForwardModel& m) { return m.bound; });
  of_model("modelled_us", [](const ForwardModel& m) { return std::round(m.microseconds * 10) / 10; });
  of_model("calibrated", [&](const ForwardModel&) { return is_calibrated(gpu); });
  json.field("reason", s.reason);
}

}  // namespace

void write_explanation(JsonText& json, const ForwardProblem& problem, const Gpu& gpu, CudaVersion driver,
                       std::span<const Image> images, const PlanOptions& options) {
  const auto plan = plan_forward(problem, gpu, driver, images, options);
  Shared s;
  if (plan) {
    s.fits = true;
    s.family = plan->row().family->name;
    s.variant = name_of(plan->variant->config);
    s.target = plan->image().target.str();
    s.shared_memory_bytes = plan->row().shared_bytes;
    s.registers_per_thread = plan->registers;
    s.registers_estimated = plan->registers_estimated;
    s.kind = kind_of(plan->variant->config);
    s.grid = plan->grid();
    s.splits = plan->splits;
    s.split_tiles = plan->split_tiles;
    s.workspace_bytes = static_cast<std::int64_t>(plan->workspace_bytes);
    s.threads = plan->row().threads;
    s.model = &plan->model;
  }
  s.reason = plan ? reason_for(*plan, gpu, driver, images) : plan.error().message;
  json.begin_object();
  write_fields(json, gpu, s);
  json.end_object();
}

void write_explanation(JsonText& json, const Fit& fit, const Gpu& gpu) {
  const ForwardConfig& c = fit.config;
  Shared s;
  s.fits = fit.fits;
  s.family = family_of(c).name;
  s.kind = kind_of(c);
  if (std::string name = name_of(c); find_forward_variant(name) != nullptr) s.variant = std::move(name);
  s.shared_memory_bytes = fit.shared_bytes;
  s.registers_per_thread = fit.registers;
  s.registers_estimated = fit.registers_estimated;
  s.threads = fit.threads;
  if (fit.fits) s.model = &fit.model;
  s.reason = fit.binds;
  json.begin_object();
  write_fields(json, gpu, s);
  json.field("block_m", c.block_m);
  json.field("block_n", c.block_n);
  json.field("stages", c.stages);
  json.field("warps", c.warps);
  json.field("shared_memory_static_limit_bytes", kStaticSharedBytes);
  json.field("spill_bytes", fit.spill_bytes);
  json.end_object();
}

}  // namespace flashfit
