#pragma once
// Which image combines the parts of split keys: a table of a row for each dtype, and the launch. Host only.
#include <span>
#include <vector>

#include "core/launch/choice.hpp"
#include "core/launch/kernel_variant.hpp"
#include "core/launch/step.hpp"
#include "kernels/attention/forward/combine/params.hpp"
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward_params.hpp"

namespace flashfit {

struct CombineVariant {
  CombineConfig config;
  std::span<const Target> targets;
};

namespace combine_table {

using enum Target::Kind;

// Those of the kernels over mma.sync, whichever of these a build carries.
inline constexpr Target kTuringOn[] = {{75, kSass},  {80, kSass},  {86, kSass}, {89, kSass}, {90, kSass},
                                       {100, kSass}, {120, kSass}, {75, kPtx},  {80, kPtx}};
inline constexpr Target kAmpereOn[] = {{80, kSass},  {86, kSass},  {89, kSass}, {90, kSass},
                                       {100, kSass}, {120, kSass}, {80, kPtx}};
inline constexpr CombineVariant kAll[] = {{{DType::kF16}, kTuringOn}, {{DType::kBF16}, kAmpereOn}};

}  // namespace combine_table

/// In a header, for tests that instantiate all of them.
inline constexpr std::span<const CombineVariant> kCombineVariants = combine_table::kAll;

inline constexpr const char* kCombineOperation = "attention.combine";

/// As the catalogue has them.
std::vector<KernelVariant> combine_kernel_variants();
KernelVariant kernel_variant_of(const CombineVariant& variant);

/// The image for outputs of a dtype, or nullptr if none of `images`, of any operations, loads. Allocates nothing.
const Image* combine_image(DType dtype, std::span<const Image> images, const GpuWithDriver& on);

/// The launch after that of the parts, of which there are at least two. From 9.0 on it begins early: its blocks start
/// as those of the launch before end, and wait for it on the GPU.
Step combine_step(const Image& image, const ForwardConfig& parts_config, std::int64_t rows, int parts);

/// Its argument, from that of the launch of the parts.
CombineParams combine_params(const ForwardConfig& parts_config, const ForwardParams& parts);

}  // namespace flashfit
