#pragma once
// Which images a GPU and its driver can load, and why none of them: what the plan of every family begins with.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/gpu/gpu.hpp"
#include "core/launch/image.hpp"

namespace flashfit {

/// What a caller may ask of a plan, whatever the operation.
struct PlanOptions {
  std::string_view variant = {};  ///< force this variant by name (empty: choose)
  bool ptx_only = false;          ///< use PTX even where machine code fits (tests of other targets' code on one GPU)
};

/// A GPU and what its driver loads.
struct GpuWithDriver {
  const Gpu& gpu;
  CudaVersion driver = 0;  ///< 0: unknown, taken as new enough
  bool ptx_only = false;
};

bool loads(const GpuWithDriver& on, const Image& image);

/// Calls visit(image) for the best image of each variant: of those that `of` accepts and that load, machine code before
/// PTX, then the newest target.
template <class Of, class Visit>
void for_each_best_image(std::span<const Image> images, const GpuWithDriver& on, Of of, Visit visit) {
  for (const Image& image : images) {
    if (!of(image) || !loads(on, image)) continue;
    const auto beats = [&](const Image& other) {
      if (other.variant != image.variant || !loads(on, other)) return false;
      return other.target.kind != image.target.kind ? other.target.kind == Target::Kind::kSass
                                                    : other.target.cc > image.target.cc;
    };
    bool best = true;
    for (const Image& other : images) best = best && !beats(other);
    if (best) visit(image);
  }
}

/// "L4 (8.9)".
std::string describe(const Gpu& gpu);

/// Code::kMisfit.
Error misfit(std::string message);

/// Why a driver can load nothing of ours for this GPU; nothing if it is new enough.
std::optional<Error> misfit_of_driver(const Gpu& gpu, CudaVersion driver);

/// Why none of the images that `of` accepts loads; nothing if one does. `what` says what they compute: "fp16 head_dim
/// 64".
std::optional<Error> misfit_of_loading(std::string_view what, std::span<const Image> images, const GpuWithDriver& on,
                                       const std::function<bool(const Image&)>& of);

}  // namespace flashfit
