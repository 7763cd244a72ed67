#pragma once
// Which carried images could serve a problem on a GPU. Inner part of the plan.
#include <optional>

#include "core/gpu/occupancy.hpp"
#include "kernels/attention/forward/plan/plan.hpp"

namespace flashfit {

/// What narrows the images, all of the forward's family, down; `variant` forces one.
struct Request {
  const ForwardProblem& problem;
  const Gpu& gpu;
  CudaVersion driver;
  std::span<const Image> images;
  const ForwardVariant* variant = nullptr;
  bool ptx_only = false;
  const Image* combine = nullptr;  ///< of split keys' parts; without one no keys are split
  int splits = 0;                  ///< forces so many parts; 0: those of the least modelled time

  GpuWithDriver gpu_with_driver() const { return {gpu, driver, ptx_only}; }
};

/// Whether a variant computes the problem: of its dtype, as wide as its head_dims or wider, and with its options.
bool serves(const ForwardConfig& config, const ForwardProblem& problem);
/// Whether it does, but for dtype, head_dims and heads.
bool takes_options(const ForwardConfig& config, const ForwardProblem& problem);
/// Whether no plain variant does.
bool needs_general(const ForwardProblem& problem);

inline const ForwardVariant& variant_of(const Image& image) { return forward_variant_of(*image.variant); }

/// Whether the image's variant serves the problem (and is the forced one, or one that the plan may choose).
bool of_problem(const Request& request, const Image& image);

/// The plan that this image gives, or nothing if a block of it does not fit the GPU or the launch has too many blocks.
std::optional<ForwardPlan> plan_of(const Request& request, const Image& image);

/// Slots per head, or per `pack` of them, for a tile of block_m rows; nothing if slots * heads_q, which kernels count
/// to even where they pack, would exceed kMaxGrid, or the rows of a pack kMaxRows.
std::optional<std::int64_t> slots_for(const ForwardProblem& problem, int block_m, int pack = 1);

/// Whether plan `a` is preferred to `b`, both of one engine: machine code to PTX, newer PTX to older, then what pads
/// head_dims less, plain variants to others, then the smaller modelled time; of equal ones what packs no heads,
/// the newer target, then the taller tile, so that the order of images does not matter.
bool better(const ForwardPlan& a, const ForwardPlan& b);

/// The best of the plans that were added: of each engine's best, machine code before PTX, then the smaller modelled
/// time. In two steps, as what pads less and what takes less time are no one order of all plans.
class BestPlan {
 public:
  void add(const ForwardPlan& plan);
  const std::optional<ForwardPlan>& get() const;

 private:
  std::optional<ForwardPlan> mma_, wgmma_;
};

/// The registers of a variant's image, or of its machine code for other GPUs, or estimated;
/// spills as the image or the estimate has them.
struct Registers {
  int count;
  bool estimated;
  int spill_bytes;
};
Registers registers_of(const ForwardConfig& config, const Image* image, std::span<const Image> images);

/// Calls visit(plan) for each variant's best image that gives a plan.
template <class Visit>
void for_each_candidate(const Request& request, Visit visit) {
  for_each_best_image(
      request.images, request.gpu_with_driver(), [&](const Image& image) { return of_problem(request, image); },
      [&](const Image& image) {
        if (const auto plan = plan_of(request, image)) visit(*plan);
      });
}

}  // namespace flashfit
