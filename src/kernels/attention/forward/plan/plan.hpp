#pragma once
// The plan: a pure function from (problem, GPU, driver, images carried) to one variant and how to launch it, or to a
// misfit with its reason. Deterministic, allocates nothing on success, needs no GPU. docs/plan.md derives it.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/gpu/gpu.hpp"
#include "core/launch/choice.hpp"
#include "core/launch/image.hpp"
#include "core/launch/step.hpp"
#include "kernels/attention/forward/params.hpp"
#include "kernels/attention/forward/variants.hpp"
#include "kernels/attention/problem.hpp"

namespace flashfit {

/// Most rows (queries or keys) of a sequence, or of the row axis when the length varies:
/// the kernel counts rows in 32-bit integers.
inline constexpr std::int64_t kMaxRows = std::int64_t{1} << 30;
/// Most thread blocks of a launch. Source: CUDA C++ Programming Guide, maximum x-dimension of a grid.
inline constexpr std::int64_t kMaxGrid = (std::int64_t{1} << 31) - 1;

/// How a configuration would run a problem on a GPU, by counting. Used to choose and to explain, never as a promise.
struct ForwardModel {
  int blocks_per_sm = 0;        ///< resident, by shared memory, registers and threads
  const char* limited_by = "";  ///< what stops one more: "shared memory", "registers", "threads", "blocks"
  std::int64_t waves = 0;       ///< ceil(blocks / (sms * blocks_per_sm))
  double microseconds = 0;      ///< modelled time
  const char* bound = "";  ///< what the model spends most on: "tensor cores", "exponentials", "shared memory", "fp32
                           ///< units", "latency", "DRAM"
};

struct ForwardPlan {
  const ForwardVariant* variant;
  ForwardProblem problem;  ///< as it is launched: with `by_strides`, heads that share keys are its query rows
  bool by_strides;
  int pack;  ///< query heads whose queries the kernel puts in the rows of a tile; 1 with `by_strides`
             ///< (attention/pack.hpp)
  /// Blocks of slots x heads / pack for each part of the keys, none if there are no rows; then, if there is more than
  /// one part, the launch that combines them.
  Steps steps;
  std::int64_t slots;           ///< blocks per pack of heads and part of the keys: ForwardParams::slots
  int splits, split_tiles;      ///< parts that the keys are cut in; tiles of a part
  std::size_t workspace_bytes;  ///< device memory that the caller must give
  int registers;                ///< a thread: the image's; of PTX that of the variant's machine code, else estimated
  bool registers_estimated;
  ForwardModel model;

  /// Query heads that are rows of one tile, in either way; 1: none are packed.
  int packed_heads() const { return by_strides ? static_cast<int>(problem.seqlen_q) : pack; }
  const Image& image() const { return *steps[0].image; }
  const KernelVariant& kernel_variant() const { return *image().variant; }
  /// Thread blocks for each part of the keys; 0: no rows, nothing to launch.
  std::int64_t grid() const { return steps[0].grid.x; }
};

/// Code::kMisfit names the GPU, its compute capability and what binds: fp32, bf16 before 8.0, head_dim or dtype not
/// carried, no image for this GPU, driver too old, shared memory, too many rows or blocks. Code::kInvalidArgument:
/// options.variant names none, or one of another dtype or head_dim.
/// `driver` 0 = unknown, taken as new enough. The plan points into `images`.
Result<ForwardPlan> plan_forward(const ForwardProblem& problem, const Gpu& gpu, CudaVersion driver,
                                 std::span<const Image> images, const PlanOptions& options = {});

/// One sentence: why this plan, and what came second. Separate from planning so that a launch never pays for prose.
std::string reason_for(const ForwardPlan& plan, const Gpu& gpu, CudaVersion driver, std::span<const Image> images);

/// What binds when `config` is put on `gpu`, whether or not it is in the table.
struct Fit {
  ForwardConfig config;
  bool fits = false;
  int shared_bytes = 0;
  int registers = 0;  ///< a thread: from a carried image of this variant, else estimated
  bool registers_estimated = false;
  int spill_bytes = 0;  ///< a thread: registers wanted past the limit (estimated) or the image's local memory
  int threads = 0;
  int blocks_per_sm = 0;  ///< 0 if it does not fit
  std::string binds;      ///< what refuses it ("shared memory: 163840 B (0x28000) a block > 101376 B, ..."), or limits
                          ///< blocks per SM
  ForwardModel model;     ///< only if it fits
};

/// What-if: would this configuration fit that GPU? Pure, for any GPU.
Fit what_if(const ForwardConfig& config, const ForwardProblem& problem, const Gpu& gpu, std::span<const Image> images);

/// The table's variant of this tile, stages and warps, with its own min_blocks, or else `config` itself.
ForwardConfig variant_or_self(const ForwardConfig& config);

/// Every tile x stages x warps that fits, fastest modelled first.
std::vector<Fit> sweep(const ForwardProblem& problem, const Gpu& gpu, std::span<const Image> images);

}  // namespace flashfit
