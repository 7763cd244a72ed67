#include "plan/explain.hpp"

#include <cmath>

namespace flashfit {
namespace {

using Json = nlohmann::ordered_json;

Json frame(const Gpu& gpu) {
  Json j;
  j["gpu"] = gpu.name;
  j["compute_capability"] = gpu.cc.str();
  j["fits"] = false;
  for (const char* key : {"family", "variant", "target", "shared_memory_bytes"}) j[key] = nullptr;
  j["shared_memory_limit_bytes"] = gpu.shared_bytes_block;
  for (const char* key : {"registers_per_thread", "registers_estimated", "blocks_per_sm", "grid", "threads", "bound",
                          "modelled_us", "reason"})
    j[key] = nullptr;
  return j;
}

double tenths(double x) { return std::round(x * 10) / 10; }

}  // namespace

Json explain_json(const ForwardProblem& problem, const Gpu& gpu, CudaVersion driver, std::span<const Image> images,
                  const PlanOptions& options) {
  Json j = frame(gpu);
  const auto plan = plan_forward(problem, gpu, driver, images, options);
  if (!plan) {
    j["reason"] = plan.error().message;
    return j;
  }
  j["fits"] = true;
  j["family"] = "mma";
  j["variant"] = name_of(plan->variant->config);
  j["target"] = plan->image->target.str();
  j["shared_memory_bytes"] = plan->shared_bytes;
  j["registers_per_thread"] = plan->registers;
  j["registers_estimated"] = plan->registers_estimated;
  j["blocks_per_sm"] = plan->model.blocks_per_sm;
  j["grid"] = plan->grid;
  j["threads"] = plan->threads;
  j["bound"] = plan->model.bound;
  j["modelled_us"] = tenths(plan->model.microseconds);
  j["reason"] = reason_for(*plan, problem, gpu, driver, images);
  return j;
}

Json explain_json(const Fit& fit, const Gpu& gpu) {
  Json j = frame(gpu);
  const ForwardConfig& c = fit.config;
  j["fits"] = fit.fits;
  j["family"] = "mma";
  if (find_forward_variant(name_of(c)) != nullptr) j["variant"] = name_of(c);
  j["block_m"] = c.block_m;
  j["block_n"] = c.block_n;
  j["stages"] = c.stages;
  j["warps"] = c.warps;
  j["shared_memory_bytes"] = fit.shared_bytes;
  j["shared_memory_static_limit_bytes"] = kStaticSharedBytes;
  j["registers_per_thread"] = fit.registers;
  j["registers_estimated"] = fit.registers_estimated;
  j["spill_bytes"] = fit.spill_bytes;
  j["threads"] = fit.threads;
  j["reason"] = fit.binds;
  if (fit.fits) {
    j["blocks_per_sm"] = fit.blocks_per_sm;
    j["bound"] = fit.model.bound;
    j["modelled_us"] = tenths(fit.model.microseconds);
  }
  return j;
}

}  // namespace flashfit
