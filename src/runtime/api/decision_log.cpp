#include "runtime/api/decision_log.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <mutex>
#include <string>
#include <unordered_set>

#include "core/gpu/driver_versions.hpp"
#include "runtime/api/environment.hpp"
#include "runtime/api/one_line.hpp"
#include "runtime/api/problem_text.hpp"
#include "runtime/cpu/kernel.hpp"

namespace flashfit::api {
namespace {

/// Lengths that vary from call to call make each call distinct: past this many lines the log is closed.
constexpr std::size_t kMostLines = 1000;

/// One write a line, so that threads and processes do not mix theirs.
void write_line(const std::string& text) {
  char line[4096];
  std::size_t length = write_one_line("flashfit: " + text, line, sizeof line - 1);
  line[length++] = '\n';
  std::fwrite(line, 1, length, stderr);
}

void log_once(std::string line) {
  static std::mutex mutex;
  static auto& written = *new std::unordered_set<std::string>;  // never freed, as the environment
  const std::lock_guard lock(mutex);
  if (written.size() > kMostLines || !written.insert(line).second) return;
  if (written.size() > kMostLines) line = fmt::format("{} distinct decisions; later ones are not logged", kMostLines);
  write_line(line);
}

std::string text(const ForwardProblem& p) {
  const std::string rows = p.variable_length ? fmt::format("{} queries x {} keys in all", p.total_q, p.total_k)
                                             : fmt::format("{} queries x {} keys", p.seqlen_q, p.seqlen_k);
  const std::string dim_v = p.head_dim_v == p.head_dim ? "" : fmt::format(" (v {})", p.head_dim_v);
  return fmt::format("attention {} head_dim {}{}, batch {}, heads {}/{}, {}{}{}", name_of(p.dtype), p.head_dim, dim_v,
                     p.batch, p.heads_q, p.heads_kv, rows, p.causal ? ", causal" : "", options_text(p));
}

}  // namespace

bool logging() { return environment().log; }

void log_cpu(const CheckedForward& checked) {
  log_once(fmt::format("{}: cpu, {}", text(checked.call.problem), cpu::kernels().front().name));
}

void log_gpu(const CheckedForward& checked, const Gpu& gpu, CudaVersion driver, const ForwardPlan& plan) {
  log_once(fmt::format(
      "{}: cuda:{} {} ({}), driver for CUDA {}: {} of target {}, grid {} x {} threads, {} B shared "
      "memory, {} B workspace",
      text(checked.call.problem), checked.device, gpu.name, gpu.cc.str(), str(driver), name_of(plan.variant->config),
      plan.image().target.str(), plan.grid(), plan.row().threads, plan.row().shared_bytes, plan.workspace_bytes));
}

void log_refusal(const CheckedForward* checked, const Error& error) {
  log_once(fmt::format("{}: refused: {}", checked ? text(checked->call.problem) : "attention", error.message));
}

}  // namespace flashfit::api
