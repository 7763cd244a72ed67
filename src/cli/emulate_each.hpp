#pragma once
// What every `flashfit emulate OPERATION` but attention's does alike: for each GPU the plan's kernels run once a seed.
#include <cstdint>
#include <functional>
#include <string>

#include "cli/emulate_report.hpp"
#include "cli/emulator_options.hpp"
#include "cli/problem_options.hpp"
#include "core/base/error.hpp"

namespace flashfit::cli {

/// The options beside the problem's.
struct EmulateEachOptions {
  GpuOptions gpu;
  EmulatorOptions how;
  std::string variant;

  void add_gpu_to(CLI::App& app) { gpu.add_to(app); }
  void add_rest_to(CLI::App& app);
};

/// What a plan chose, as far as a Run says it.
struct Chosen {
  const Image* image;
  std::int64_t blocks;
};

/// A run's kernels on the CPU. Error: the emulator's finding. `defect` is what is wrong with the numbers, or "".
using Emulation = std::function<Result<emu::Stats>(const Image& image, const emu::Options&, std::string& defect)>;

/// Asks `plan` for each GPU, runs `emulate` for each seed and prints what came of it. The command's status: kFinding if
/// any run has one. wrong() where a GPU that is named, or every one of the table, does not fit.
int emulate_each(const EmulateEachOptions& options, const std::string& problem,
                 const std::function<Result<Chosen>(const Gpu&, CudaVersion driver)>& plan, const Emulation& emulate);

}  // namespace flashfit::cli
