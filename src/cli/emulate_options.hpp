#pragma once
// What `flashfit emulate` is to run: a problem as `flashfit explain` takes it, and how.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/emulator_options.hpp"
#include "cli/problem_options.hpp"
#include "proof/emu/options.hpp"
#include "proof/reference/forward_data.hpp"

namespace flashfit::cli {

struct EmulateOptions {
  ProblemOptions problem;
  GpuOptions gpu;
  EmulatorOptions how;
  std::string variant, layout = "bshd", numerics = "fp32", seqlens, seqlens_k, seqused_k;
  std::int64_t data_seed = 1;
  std::optional<double> softmax_scale;  ///< none: 1 / sqrt(head_dim)

  void add_to(CLI::App& app);
  /// The tensors' shapes, layout and seed. wrong() where options contradict each other or ask for more than the
  /// emulator can be expected to do.
  reference::ForwardCase data_case() const;
  /// One for each seed, for a kernel of that GPU.
  std::vector<emu::Options> runs(const Gpu& on) const;
  /// The same for a kernel that may have so much shared memory, compiled for that compute capability: 90 is 9.0.
  std::vector<emu::Options> runs(std::size_t shared_limit, int cc) const;
};

/// Floating-point operations of one forward: two products, of the pairs that the mask leaves.
double forward_flop(const reference::ForwardCase& c);

}  // namespace flashfit::cli
