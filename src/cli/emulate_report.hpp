#pragma once
// What `flashfit emulate` says of a run.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "core/gpu/gpu.hpp"
#include "core/launch/image.hpp"
#include "proof/emu/options.hpp"
#include "proof/reference/forward_data.hpp"

namespace flashfit::cli {

/// One run of the kernel that a plan chose for a GPU, of any operation.
struct Run {
  const Gpu& gpu;
  const Image& image;
  std::int64_t blocks;
  const emu::Options& options;
  double seconds = 0;
  emu::Stats stats;
  std::string finding;  ///< "": none
  bool ended = false;   ///< the kernel came to its end, right or wrong

  const KernelVariant& kernel_variant() const { return *image.variant; }
};

/// What a forward gives beside its Run.
struct ForwardNumbers {
  double flop = 0, out_bound = 0, lse_bound = 0;
  reference::Verdict verdict;
};

/// The run as an object of --json.
nlohmann::ordered_json json_of(const Run& run);
nlohmann::ordered_json json_of(const Run& run, const ForwardNumbers& numbers);

/// The run for people; the first of a GPU with what was chosen and what it counted.
void print(const Run& run, bool first);
void print(const Run& run, const ForwardNumbers& numbers, bool first);

/// What a launch counted, a line each.
void print_counts(const emu::Stats& stats);

/// A line of that text.
void print_line(const char* key, const std::string& value);

}  // namespace flashfit::cli
