#include "runtime/api/attention/decisions.hpp"

#include <fmt/format.h>

#include <string>

#include "core/gpu/driver_versions.hpp"
#include "runtime/api/attention/problem_text.hpp"
#include "runtime/api/decision_log.hpp"
#include "runtime/cpu/kernel.hpp"

namespace flashfit::api {
namespace {

std::string text(const ForwardProblem& p) {
  const std::string rows = p.variable_length ? fmt::format("{} queries x {} keys in all", p.total_q, p.total_k)
                                             : fmt::format("{} queries x {} keys", p.seqlen_q, p.seqlen_k);
  const std::string dim_v = p.head_dim_v == p.head_dim ? "" : fmt::format(" (v {})", p.head_dim_v);
  return fmt::format("attention {} head_dim {}{}, batch {}, heads {}/{}, {}{}{}", name_of(p.dtype), p.head_dim, dim_v,
                     p.batch, p.heads_q, p.heads_kv, rows, p.causal ? ", causal" : "", options_text(p));
}

}  // namespace

void log_cpu(const CheckedForward& checked) {
  log_once(fmt::format("{}: cpu, {}", text(checked.call.problem), cpu::kernels().front().name));
}

void log_gpu(const CheckedForward& checked, const Gpu& gpu, CudaVersion driver, const ForwardPlan& plan) {
  log_once(
      fmt::format("{}: cuda:{} {} ({}), driver for CUDA {}: {} of target {}, grid {} x {} threads, {} B shared "
                  "memory, {} B workspace",
                  text(checked.call.problem), checked.device, gpu.name, gpu.cc.str(), str(driver),
                  name_of(plan.variant->config), plan.image().target.str(), plan.grid(), plan.kernel_variant().threads,
                  plan.kernel_variant().shared_bytes, plan.workspace_bytes));
}

void log_refusal(const CheckedForward* checked, const Error& error) {
  log_once(fmt::format("{}: refused: {}", checked ? text(checked->call.problem) : "attention", error.message));
}

}  // namespace flashfit::api
