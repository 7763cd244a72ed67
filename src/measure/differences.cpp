// What makes two runs incomparable: the machine, its clocks, how they were timed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/compare.hpp"

namespace flashfit::results {
namespace {

class Differences {
 public:
  void check(std::string_view what, const std::string& old_value, const std::string& new_value) {
    if (old_value != new_value)
      lines.push_back(fmt::format("{}: {} and {}", what, old_value.empty() ? "unknown" : old_value,
                                  new_value.empty() ? "unknown" : new_value));
  }
  /// What one of them does not know is not held against the other.
  void check(std::string_view what, const std::optional<double>& a, const std::optional<double>& b, double share = 0) {
    if (a && b && std::max(*a, *b) > std::min(*a, *b) * (1 + share))
      lines.push_back(fmt::format("{}: {:g} and {:g}", what, *a, *b));
  }

  std::vector<std::string> lines;
};

std::string gpu_name(const ResultFile& run) {
  return run.gpu ? fmt::format("{} ({})", run.gpu->name, run.gpu->compute_capability) : "none";
}

/// The middle SM clock of the cases that both have.
std::optional<double> clock_of(const ResultFile& run, const ResultFile& other) {
  std::vector<double> clocks;
  for (const CaseResult& c : run.cases) {
    const CaseResult* same = other.find(c.name);
    if (c.clock_mhz && same != nullptr && same->clock_mhz) clocks.push_back(*c.clock_mhz);
  }
  if (clocks.empty()) return std::nullopt;
  const auto middle = clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
  std::nth_element(clocks.begin(), middle, clocks.end());
  return *middle;
}

}  // namespace

std::vector<std::string> differences(const ResultFile& old_run, const ResultFile& new_run) {
  Differences found;
  found.check("GPU", gpu_name(old_run), gpu_name(new_run));
  if (old_run.gpu && new_run.gpu) {
    const ResultGpu &a = *old_run.gpu, &b = *new_run.gpu;
    found.check("SMs", a.sms, b.sms);
    found.check("largest SM clock in MHz", a.clock_max_mhz, b.clock_max_mhz);
    found.check("largest memory clock in MHz", a.memory_clock_max_mhz, b.memory_clock_max_mhz);
    found.check("power limit in W", a.power_limit_w, b.power_limit_w);
    found.check("measured SM clock in MHz", clock_of(old_run, new_run), clock_of(new_run, old_run), kClockShare);
  }
  if (!old_run.gpu && !new_run.gpu) {
    found.check("CPU", old_run.cpu, new_run.cpu);
    found.check("cores", static_cast<double>(old_run.cores), static_cast<double>(new_run.cores));
  }
  found.check("method.l2", old_run.l2, new_run.l2);
  found.check("method.clock", old_run.clock, new_run.clock);
  for (const CaseResult& c : new_run.cases) {
    const CaseResult* before = old_run.find(c.name);
    if (before == nullptr) continue;
    if (!(before->problem == c.problem)) found.lines.push_back(fmt::format("problem of '{}'", c.name));
    if (before->timing && c.timing) found.check(fmt::format("launch of '{}'", c.name), before->launch, c.launch);
  }
  return found.lines;
}

}  // namespace flashfit::results
