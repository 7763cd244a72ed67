// All that the emulated tests sample: every kernel that it is linked with, on every case that it serves, under every
// schedule, with plain sums and rounded as the tensor cores of each kind that the kernel is compiled for. Linked with
// kernels for ThreadSanitizer, it looks for races too.
//
//   emulate_all [--each N] [PART...]   kernels whose name holds a PART; every N-th case
//
// Exit 0: all right; 1: a defect, in one line each.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "emulated.hpp"

namespace flashfit::testing {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// The schedules, each with plain sums, then one for each kind of tensor core.
std::vector<emu::Options> all_options(const ForwardVariant& variant) {
  std::vector<emu::Options> all = schedules();
  std::vector<emu::TensorCore> cores;
  for (const Target& target : variant.targets) {
    const emu::TensorCore core = emu::tensor_core_of(target.cc);
    if (std::find(cores.begin(), cores.end(), core) != cores.end()) continue;
    cores.push_back(core);
    all.push_back({.kernel = {}, .schedule = emu::Schedule::kRandom, .seed = 11, .tensor_core = core});
  }
  return all;
}

std::string defect_on(const EmulatedKernel& kernel, const ForwardCase& spec, int splits) {
  ForwardData data = make_data(spec);
  const Expected expected = expect(data);
  for (const emu::Options& options : all_options(forward_variant_of(kernel.variant))) {
    data = make_data(spec);
    const auto ran = run(kernel, data, options, {}, splits);
    if (!ran) return fmt::format("in {} parts: {}", splits, ran.error().message);
    if (const Verdict verdict = check(data, expected); !verdict.ok)
      return fmt::format("{} ({}, {}, {} parts): {}", kernel.variant.name, name_of(options.schedule),
                         options.tensor_core ? "as a tensor core" : "plain sums", splits, verdict.message);
  }
  return {};
}

int run_all(int each, const std::vector<std::string>& parts) {
  std::vector<std::pair<double, std::string>> slowest;
  int defects = 0;
  const auto start = Clock::now();
  for (const EmulatedKernel& kernel : emulated_forwards()) {
    const ForwardConfig& config = forward_variant_of(kernel.variant).config;
    const std::string name = name_of(config);
    const auto named = [&](const std::string& part) { return name.find(part) != std::string::npos; };
    if (!parts.empty() && std::none_of(parts.begin(), parts.end(), named)) continue;
    const auto cases = served_cases(config);
    const auto kernel_start = Clock::now();
    const int defects_before = defects;
    for (std::size_t i = 0; i < cases.size(); i += static_cast<std::size_t>(each)) {
      const auto case_start = Clock::now();
      if (const std::string defect = defect_on(kernel, cases[i], splits_of(i)); !defect.empty()) {
        std::fputs(fmt::format("DEFECT {}: {}\n", cases[i].name, defect).c_str(), stdout);
        ++defects;
      }
      slowest.emplace_back(seconds_since(case_start), name + " " + cases[i].name);
    }
    std::fputs(fmt::format("{}: {} of {} cases, {} defects, {:.0f} s\n", name,
                           (cases.size() + static_cast<std::size_t>(each) - 1) / static_cast<std::size_t>(each),
                           cases.size(), defects - defects_before, seconds_since(kernel_start))
                   .c_str(),
               stdout);
    std::fflush(stdout);
  }
  std::sort(slowest.rbegin(), slowest.rend());
  for (std::size_t i = 0; i < std::min<std::size_t>(slowest.size(), 10); ++i)
    std::fputs(fmt::format("{:7.2f} s  {}\n", slowest[i].first, slowest[i].second).c_str(), stdout);
  std::fputs(fmt::format("{} cases, {} defects, {:.0f} s\n", slowest.size(), defects, seconds_since(start)).c_str(),
             stdout);
  return defects != 0 || slowest.empty();
}

}  // namespace
}  // namespace flashfit::testing

int main(int argc, char** argv) {
  try {
    int each = 1;
    std::vector<std::string> parts;
    for (int i = 1; i < argc; ++i) {
      if (std::strcmp(argv[i], "--each") == 0 && i + 1 < argc)
        each = std::max(std::atoi(argv[++i]), 1);
      else
        parts.emplace_back(argv[i]);
    }
    return flashfit::testing::run_all(each, parts);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "emulate_all: %s\n", error.what());
    return 2;
  }
}
