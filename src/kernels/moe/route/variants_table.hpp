#pragma once
// The router's table of variants, for who must see it at compile time: tests that instantiate all kernels. Others take
// route_variants().
#include "kernels/moe/route/variants.hpp"

namespace flashfit {
namespace route_table {

using enum Target::Kind;

// PTX of the oldest target runs on what comes after every machine code.
inline constexpr Target kTargets[] = {{75, kSass}, {80, kSass},  {86, kSass},  {89, kSass},
                                      {90, kSass}, {100, kSass}, {120, kSass}, {75, kPtx}};

inline constexpr RouteVariant kAll[] = {
    {{DType::kF16, 128, 4}, kTargets},  {{DType::kF16, 256, 4}, kTargets},  {{DType::kF16, 512, 4}, kTargets},
    {{DType::kBF16, 128, 4}, kTargets}, {{DType::kBF16, 256, 4}, kTargets}, {{DType::kBF16, 512, 4}, kTargets},
    {{DType::kF32, 128, 4}, kTargets},  {{DType::kF32, 256, 4}, kTargets},  {{DType::kF32, 512, 4}, kTargets},
};

}  // namespace route_table

inline constexpr std::span<const RouteVariant> kRouteVariants = route_table::kAll;

}  // namespace flashfit
