#pragma once
// The plan: a pure function from (problem, GPU, driver, images carried) to one variant and how to launch it, or to a misfit with its reason.
// Deterministic, allocates nothing on success, needs no GPU.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attention/problem.hpp"
#include "base/error.hpp"
#include "gpu/gpu.hpp"
#include "images/image.hpp"

namespace flashfit {

/// How a configuration would run a problem on a GPU, by counting (docs/plan.md derives it). Used to choose and to explain, never as a promise.
struct ForwardModel {
  int blocks_per_sm = 0;         ///< resident, by shared memory, registers and threads
  std::int64_t waves = 0;        ///< ceil(blocks / (sms * blocks_per_sm))
  double microseconds = 0;       ///< modelled time
  const char* bound = "";        ///< "tensor cores", "exponentials", "shared memory", "DRAM": what the model says is slowest
};

struct ForwardPlan {
  const ForwardVariant* variant;
  const Image* image;
  std::int64_t slots;            ///< blocks per head: ForwardParams::slots
  std::int64_t grid;             ///< thread blocks
  int threads;                   ///< a block
  int shared_bytes;              ///< dynamic, a block
  std::size_t workspace_bytes;   ///< device memory that the caller must give
  ForwardModel model;
};

struct PlanOptions {
  std::string_view variant;      ///< force this row by name (empty: choose)
  bool ptx_only = false;         ///< use PTX even where machine code fits (tests of other targets' code on one GPU)
};

/// Misfits (Code::kMisfit) name the GPU, its compute capability and what binds: bf16 on 7.5, head_dim not carried, no image for this GPU, driver too
/// old, shared memory. `driver` 0 = unknown, taken as new enough.
Result<ForwardPlan> plan_forward(const ForwardProblem& problem, const Gpu& gpu, CudaVersion driver, std::span<const Image> images,
                                 const PlanOptions& options = {});

/// One sentence: why this plan. Separate from planning so that a launch never pays for prose.
std::string reason_for(const ForwardPlan& plan, const ForwardProblem& problem, const Gpu& gpu, std::span<const Image> images);

/// What binds when `config` is put on `gpu`, whether or not it is in the table.
struct Fit {
  ForwardConfig config;
  bool fits;
  int shared_bytes;
  int registers;                 ///< a thread: from a carried image of this row, else estimated
  bool registers_estimated;
  int threads;
  int blocks_per_sm;             ///< 0 if it does not fit
  std::string binds;             ///< what refuses it ("shared memory: 163840 B a block > 101376 B opt-in"), or what limits blocks per SM
  ForwardModel model;            ///< only if it fits
};

/// What-if: would this configuration fit that GPU? Pure, for any GPU.
Fit what_if(const ForwardConfig& config, const ForwardProblem& problem, const Gpu& gpu, std::span<const Image> images);

/// Every tile x stages x warps that fits, fastest modelled first.
std::vector<Fit> sweep(const ForwardProblem& problem, const Gpu& gpu, std::span<const Image> images);

}  // namespace flashfit
