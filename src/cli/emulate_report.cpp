#include "cli/emulate_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/images/carried.hpp"

namespace flashfit::cli {
namespace {

using Json = nlohmann::ordered_json;

void print_choice(const Run& r) {
  print_line("gpu", fmt::format("{} ({})", r.gpu.name, r.gpu.cc.str()));
  print_line("variant",
             fmt::format("{} for {}{}", r.kernel_variant().name, r.image.target.str(),
                         carried_images().empty() ? " (this build carries no images: any of the table's)" : ""));
  print_line("block", fmt::format("{} threads, {} of {} B shared memory", r.kernel_variant().threads,
                                  r.kernel_variant().shared_bytes, r.gpu.shared_bytes_block));
}

void print_ran(const Run& r, const std::string& more) {
  print_line("ran", fmt::format("{} blocks, {} schedule, seed {}, {}", r.blocks, name_of(r.options.schedule),
                                r.options.seed, more));
}

/// Counters of a first run without a finding.
void print_counters(const Run& r) {
  print_counts(r.stats);
  print_line("banks", r.stats.worst_bank_conflicts.empty() ? "no conflicts" : "worst: " + r.stats.worst_bank_conflicts);
}

void print_finding(const Run& r) { print_line("finding", r.finding.empty() ? "none" : r.finding); }

}  // namespace

Json json_of(const Run& r) {
  Json counts;
  for (const emu::Counter& c : emu::kCounters) counts[c.name] = r.stats.*c.value;
  return {{"gpu", r.gpu.name},
          {"compute_capability", r.gpu.cc.str()},
          {"variant", r.kernel_variant().name},
          {"target", r.image.target.str()},
          {"grid", r.blocks},
          {"threads", r.kernel_variant().threads},
          {"shared_memory_bytes", r.kernel_variant().shared_bytes},
          {"shared_memory_limit_bytes", r.gpu.shared_bytes_block},
          {"schedule", name_of(r.options.schedule)},
          {"seed", r.options.seed},
          {"clean", r.finding.empty()},
          {"finding", r.finding.empty() ? Json(nullptr) : Json(r.finding)},
          {"seconds", r.seconds},
          {"counts", r.ended ? counts : Json(nullptr)},
          {"worst_bank_conflicts",
           r.stats.worst_bank_conflicts.empty() ? Json(nullptr) : Json(r.stats.worst_bank_conflicts)}};
}

Json json_of(const Run& r, const ForwardNumbers& n) {
  const auto number = [&](double x) { return r.ended ? Json(x) : Json(nullptr); };
  Json json = json_of(r);
  json.update(Json{{"numerics", r.options.tensor_core ? "tensor-core" : "fp32"},
                   {"error", number(n.verdict.out_error)},
                   {"error_bound", n.out_bound},
                   {"lse_error", number(n.verdict.lse_error)},
                   {"lse_error_bound", n.lse_bound},
                   {"flop", n.flop},
                   {"emulated_gflops", number(n.flop / r.seconds * 1e-9)}});
  return json;
}

void print_line(const char* key, const std::string& value) { fmt::print("{:<9} {}\n", key, value); }

void print_counts(const emu::Stats& stats) {
  const char* title = "counts";
  for (const emu::Counter& c : emu::kCounters) {
    if (stats.*c.value == 0) continue;
    std::string name = c.name;
    std::replace(name.begin(), name.end(), '_', ' ');
    print_line(title, fmt::format("{:>12} {}", stats.*c.value, name));
    title = "";
  }
}

void print(const Run& r, bool first) {
  if (first) print_choice(r);
  print_ran(r, fmt::format("{:.2g} s", r.seconds));
  if (first && r.finding.empty()) print_counters(r);
  print_finding(r);
}

void print(const Run& r, const ForwardNumbers& n, bool first) {
  if (first) print_choice(r);
  const std::string sums = r.options.tensor_core ? "the tensor core's sums" : "fp32 sums";
  print_ran(r, fmt::format("{}: {:.3g} GFLOP in {:.2g} s, {:.2g} GFLOP/s emulated", sums, n.flop * 1e-9, r.seconds,
                           n.flop / r.seconds * 1e-9));
  if (first && r.finding.empty()) print_counters(r);
  if (r.finding.empty())
    print_line("error", fmt::format("out {:.2e} of {:.2e} allowed, LSE {:.2e} of {:.2e} (against fp64)",
                                    n.verdict.out_error, n.out_bound, n.verdict.lse_error, n.lse_bound));
  print_finding(r);
}

}  // namespace flashfit::cli
