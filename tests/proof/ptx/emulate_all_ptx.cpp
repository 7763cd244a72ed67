// The PTX of every variant of the table for every target: comparable, the same bits as the fibres give on each case; as
// shipped, right against fp64. Says how long both took.
//
//   emulate_all_ptx [--each N] [PART...]   kernels whose name holds a PART; every N-th case
//
// Exit 0: all right; 1: a defect, in one line each.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "executed.hpp"

namespace flashfit::testing {
namespace {

struct Sum {
  int runs = 0, defects = 0;
  ExecutedSeconds seconds;
};

void report(const std::string& defect, Sum& sum) {
  ++sum.runs;
  if (defect.empty()) return;
  ++sum.defects;
  std::fputs(fmt::format("DEFECT {}\n", defect).c_str(), stdout);
}

void run_row(const EmulatedKernel& kernel, int target, std::size_t each, Sum& sum) {
  const auto comparable = program_of(kernel.variant, {.target = target});
  const auto shipped = program_of(kernel.variant, {.target = target, .comparable = false});
  if (!comparable) return report(comparable.error().message, sum);
  if (!shipped) return report(shipped.error().message, sum);
  const auto cases = served_cases(forward_variant_of(kernel.variant).config);
  for (std::size_t i = 0; i < cases.size(); i += each)
    for (const emu::Options& options : schedules()) {
      report(bits_defect({kernel, **comparable, cases[i], options, splits_of(i)}, &sum.seconds), sum);
      report(value_defect({kernel, **shipped, cases[i], options, splits_of(i)}), sum);
    }
}

int run_all(std::size_t each, const std::vector<std::string>& parts) {
  Sum sum;
  for (const EmulatedKernel& kernel : emulated_forwards()) {
    const std::string name = kernel.variant.name;
    const auto named = [&](const std::string& part) { return name.find(part) != std::string::npos; };
    if (!parts.empty() && std::none_of(parts.begin(), parts.end(), named)) continue;
    for (const int target : kPtxTargets) {
      if (!serves(forward_variant_of(kernel.variant), target)) continue;
      run_row(kernel, target, each, sum);
      std::fputs(fmt::format("{} for {}: {} runs and {} defects so far; fibres {:.1f} s, PTX {:.1f} s\n", name, target,
                             sum.runs, sum.defects, sum.seconds.fibres, sum.seconds.ptx)
                     .c_str(),
                 stdout);
      std::fflush(stdout);
    }
  }
  return sum.defects != 0 || sum.runs == 0;
}

}  // namespace
}  // namespace flashfit::testing

int main(int argc, char** argv) {
  try {
    std::size_t each = 1;
    std::vector<std::string> parts;
    for (int i = 1; i < argc; ++i) {
      if (std::strcmp(argv[i], "--each") == 0 && i + 1 < argc)
        each = static_cast<std::size_t>(std::max(std::atoi(argv[++i]), 1));
      else
        parts.emplace_back(argv[i]);
    }
    return flashfit::testing::run_all(each, parts);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "emulate_all_ptx: %s\n", error.what());
    return 2;
  }
}
