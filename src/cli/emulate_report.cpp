#include "cli/emulate_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/images/carried.hpp"

namespace flashfit::cli {

using Json = nlohmann::ordered_json;

nlohmann::ordered_json json_of(const Run& r) {
  Json counts;
  for (const emu::Counter& c : emu::kCounters) counts[c.name] = r.stats.*c.value;
  const bool ran = r.finding.empty() || !r.verdict.message.empty();
  const auto number = [&](double x) { return ran ? Json(x) : Json(nullptr); };
  return {{"gpu", r.gpu.name},
          {"compute_capability", r.gpu.cc.str()},
          {"variant", name_of(r.plan.variant->config)},
          {"target", r.plan.image().target.str()},
          {"grid", r.plan.grid()},
          {"threads", r.plan.row().threads},
          {"shared_memory_bytes", r.plan.row().shared_bytes},
          {"shared_memory_limit_bytes", r.gpu.shared_bytes_block},
          {"schedule", name_of(r.options.schedule)},
          {"seed", r.options.seed},
          {"numerics", r.options.tensor_core ? "tensor-core" : "fp32"},
          {"clean", r.finding.empty()},
          {"finding", r.finding.empty() ? Json(nullptr) : Json(r.finding)},
          {"error", number(r.verdict.out_error)},
          {"error_bound", r.out_bound},
          {"lse_error", number(r.verdict.lse_error)},
          {"lse_error_bound", r.lse_bound},
          {"flop", r.flop},
          {"seconds", r.seconds},
          {"emulated_gflops", number(r.flop / r.seconds * 1e-9)},
          {"counts", ran ? counts : Json(nullptr)},
          {"worst_bank_conflicts",
           r.stats.worst_bank_conflicts.empty() ? Json(nullptr) : Json(r.stats.worst_bank_conflicts)}};
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
  if (first) {
    print_line("gpu", fmt::format("{} ({})", r.gpu.name, r.gpu.cc.str()));
    print_line("variant",
               fmt::format("{} for {}{}", name_of(r.plan.variant->config), r.plan.image().target.str(),
                           carried_images().empty() ? " (this build carries no images: any of the table's)" : ""));
    print_line("block", fmt::format("{} threads, {} of {} B shared memory", r.plan.row().threads,
                                    r.plan.row().shared_bytes, r.gpu.shared_bytes_block));
  }
  const std::string sums = r.options.tensor_core ? "the tensor core's sums" : "fp32 sums";
  print_line("ran",
             fmt::format("{} blocks, {} schedule, seed {}, {}: {:.3g} GFLOP in {:.2g} s, {:.2g} GFLOP/s emulated",
                         r.plan.grid(), name_of(r.options.schedule), r.options.seed, sums, r.flop * 1e-9, r.seconds,
                         r.flop / r.seconds * 1e-9));
  if (first && r.finding.empty()) {
    print_counts(r.stats);
    print_line("banks",
               r.stats.worst_bank_conflicts.empty() ? "no conflicts" : "worst: " + r.stats.worst_bank_conflicts);
  }
  if (r.finding.empty())
    print_line("error", fmt::format("out {:.2e} of {:.2e} allowed, LSE {:.2e} of {:.2e} (against fp64)",
                                    r.verdict.out_error, r.out_bound, r.verdict.lse_error, r.lse_bound));
  print_line("finding", r.finding.empty() ? "none" : r.finding);
}

}  // namespace flashfit::cli
