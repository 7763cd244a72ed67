#pragma once
// The experts' plan: a pure function of the problem, the GPU, the driver and the images carried.
#include <array>
#include <optional>
#include <span>
#include <string>

#include "core/base/error.hpp"
#include "core/launch/choice.hpp"
#include "core/launch/step.hpp"
#include "kernels/moe/experts/call.hpp"
#include "kernels/moe/experts/model.hpp"
#include "kernels/moe/experts/params.hpp"
#include "kernels/moe/experts/phases.hpp"
#include "kernels/moe/experts/variants.hpp"
#include "kernels/moe/experts/wgmma/tensor_maps.hpp"
#include "kernels/moe/experts/workspace.hpp"

namespace flashfit {

/// Whether the configuration can compute the problem.
bool serves(const ExpertsProductConfig& c, const ExpertsProblem& p);

/// Over wgmma: tiles of outputs that the second product computes of all rows before the next ones, while its idle warps
/// add up those before (wgmma/token_sums.cuh); 0: it adds up nothing. What is fastest.
int phase_columns_for(const ExpertsProductConfig& c, const ExpertsProblem& p);
/// `wanted`, or what can be: phases are at most kMostPhases, and none if there would be one.
int phase_columns_of(const ExpertsProductConfig& c, const ExpertsProblem& p, int wanted);

struct ExpertsPlan {
  const Image* rows;     ///< sorts and adds up
  const Image* product;  ///< multiplies, twice
  ExpertsTime time;      ///< as the model has it
  int phase_columns;
  /// Counting if there is more than one chunk, placing unless sorts() denies it, the first and the second product, the
  /// sum; none without tokens.
  Steps steps;
};

/// The product's variant that takes the least time by the model, or the one that options.variant names. Code::kMisfit
/// names the GPU and what binds: no image for it, a driver too old, fp32, sizes that are no multiples of 8, too many
/// tiles. Code::kInvalidArgument: options.variant is no product's name, or one of another dtype. The plan points into
/// `images`.
Result<ExpertsPlan> plan_experts(const ExpertsProblem& problem, const Gpu& gpu, CudaVersion driver,
                                 std::span<const Image> images, const PlanOptions& options = {});

/// Whether rows are put into the experts' order, or at least into a list of tiles, before the products. One token's
/// choices are not, where these find them by ids.
bool sorts(const ExpertsProductConfig& c, const ExpertsProblem& p);

/// Whether choices are counted before they get their rows, in a launch of its own.
bool counts(const ExpertsProblem& p);

/// Tiles across the outputs, each of which is two of w's where gate and up are paired.
std::int64_t columns_of(const ExpertsProductConfig& c, std::int64_t outputs, bool paired);

/// One sentence: why this plan, or why none.
std::string reason_for(const Result<ExpertsPlan>& plan, const ExpertsProblem& problem, const Gpu& gpu);

/// "bf16 experts, 8 of 128, hidden 2048, intermediate 768".
std::string describe(const ExpertsProblem& problem);

/// The launches of two images for a problem: ExpertsPlan::steps. Over wgmma blocks are persistent and share the tiles,
/// at most `resident` of them.
Steps experts_steps(const Image& rows, const Image& product, const ExpertsProblem& problem, std::int64_t resident,
                    int phase_columns);

/// The arguments of a plan's steps.
class ExpertsArguments {
 public:
  ExpertsArguments() = default;
  ExpertsArguments(const ExpertsArguments&) = delete;
  ExpertsArguments& operator=(const ExpertsArguments&) = delete;

  /// Those of `call` as the plan was asked for it. Errors: those of `encode`, which is asked for plans over wgmma
  /// alone.
  Result<void> set(const ExpertsPlan& plan, const ExpertsCall& call, EncodeTensorMap encode);
  /// The same for a product's configuration.
  Result<void> set(const ExpertsProductConfig& c, const ExpertsCall& call, int phase_columns, EncodeTensorMap encode);

  /// One for each step; they point into this.
  std::span<const void* const> all() const { return {pointers_.data(), count_}; }

 private:
  void add(const void* argument) { pointers_[count_++] = argument; }
  ExpertsRowsParams count_step_, place_step_, sum_step_;
  WgmmaExpertsParams first_, second_;  ///< of mma.sync without the maps
  std::array<const void*, Steps::kMost> pointers_;
  std::size_t count_ = 0;
};

/// Why a GPU's kernels cannot take the call's memory, which they read 16 bytes at a time, and whose gathered rows lie
/// within 2^35 elements: "x: row stride 2049 ..."; or nothing. The problem's sizes are multiples of 8.
std::optional<std::string> misalignment_of(const ExpertsCall& call);

}  // namespace flashfit
